"""What the bot has written, held word for word against what the rows of its tasks say that it should be.

Only what is as it should be counts as read. What a row does not tell (a refusal, an answer, a note of its own) is left
to the test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from bot import check_words
from bot.check_words import CheckWords
from bot.comments import fetching, help_text, queued, working
from bot.context import answers
from bot.conversation_words import ignored
from bot.demo.github import Issue, LocalGitHub, Repository
from bot.demo.github_pull_shapes import PullShapes
from bot.demo.github_shapes import Shapes
from bot.github_threads import pull_in
from bot.publishing.perform import Published
from bot.publishing.plan import Why
from bot.publishing.words import aside_note
from bot.steps.publish import Brought
from bot.store import Store, Task
from bot.tasks import TaskState, Verb
from sandbox import Outcome, State
from tests.bot.eventually import eventually_is
from tests.bot.expected import Bot, Expected, answer, status
from tests.bot.fake_sandbox import Box
from tests.reader import Reader

# Tasks that a waiting one may have before it in a test.
MOST_AHEAD = 10


async def read_when_done(reader: Reader, local: LocalGitHub, bot: Bot) -> None:
    """Once all tasks of a server are done."""

    async def under_way() -> list[str]:
        return [task.task_id for task in await bot.store.tasks() if task.state is not TaskState.DONE]

    await eventually_is(under_way, [])
    await read_what_is_right(reader, local, bot.store, {})


async def read_what_is_right(reader: Reader, local: LocalGitHub, store: Store, boxes: Mapping[str, Box]) -> None:
    """Everything of the tasks as they are now. Fails where one thing was said twice."""
    for repository in local.state.repositories.values():
        for issue in repository.issues.values():
            marks = Counter(one.body.rsplit("\n", 1)[-1] for one in issue.comments if one.by_app)
            assert [mark for mark, count in marks.items() if count > 1] == [], "said twice"
    for task in await store.tasks():
        if (place := _place(local, task)) is None:
            continue
        repository, issue = place
        found = await _found(local, store, task, repository)
        reader.right_comments(issue, _comments(task, found, boxes.get(task.handle or "")))
        reader.right_checks(repository, _checks(task, found))
        if found is not None:
            _read_pulls(reader, found, repository, issue)


def _place(local: LocalGitHub, task: Task) -> tuple[Repository, Issue] | None:
    """Where it was asked for, while that is there."""
    repository = local.state.repositories.get(task.request.repository.id)
    issue = repository.issues.get(task.request.thread) if repository else None
    return (repository, issue) if repository and issue else None


async def _found(local: LocalGitHub, store: Store, task: Task, repository: Repository) -> Expected | None:
    """Of a task whose outcome is stored: what follows from its row."""
    outcome = await _outcome(store, task)
    if outcome is None:
        return None
    work, published = task.work, None
    issue = repository.issues.get(work.pull or 0)
    if work.aim is not None and issue is not None and issue.pull is not None:
        shape = PullShapes(Shapes(local.url, local.git_url)).pull(repository, issue, issue.pull)
        info, aside = pull_in(shape), Why(work.aim.aside)
        published = Published(info, work.branch or "", work.commit or "", aside, work.aim.pull is not None)
    return Expected(task, outcome, Brought(task, published, aside_note(published.aside) if published else ""))


async def _outcome(store: Store, task: Task) -> Outcome | None:
    try:
        return await store.outcome(task.task_id)
    except ValueError:
        return None


def _comments(task: Task, found: Expected | None, box: Box | None) -> list[str]:
    """All that its comment may be."""
    command = task.request.command
    if command.verb is Verb.HELP:
        parts = (help_text("/agent", task.request.mistake), ignored(task.request.ignored))
        return [answer(task, "\n\n".join(part for part in parts if part))]
    if found is not None:
        return [] if _is_told_why(found) else [found.result]
    return [status(task, words) for words in _status(task, box)]


def _is_told_why(found: Expected) -> bool:
    """Changes that were to be a pull request and are none: the reason is not in the row, so the test has to know it."""
    work, changes = found.task.work, found.outcome.changes
    wanted = work.choice is not None and work.choice.result == "pr" and found.outcome.state is State.SUCCEEDED
    return work.refused or (wanted and bool(changes and changes.patch) and found.brought.published is None)


def _status(task: Task, box: Box | None) -> list[str]:
    """While it waits and works. What was said may not be in the row yet."""
    if task.state is TaskState.DONE:
        return []
    if task.state is TaskState.QUEUED:
        places = [task.shown_position] if task.shown_position is not None else range(1, MOST_AHEAD)
        return [fetching(), *(queued(place, ahead) for place in places for ahead in range(MOST_AHEAD))]
    return [fetching()] if box is None else [fetching(), working(box.elapsed, box.progress)]


def _checks(task: Task, found: Expected | None) -> list[CheckWords]:
    """All that its check runs may show."""
    if found is not None:
        return [found.check]
    under_way = task.state is not TaskState.DONE
    return [check_words.running(task.task_id, body) for body in ("", fetching())] if under_way else []


def _read_pulls(reader: Reader, found: Expected, repository: Repository, issue: Issue) -> None:
    """The answers on the threads, and the description of what was opened, by the default branch of now."""
    task, work = found.task, found.task.work
    if issue.pull is not None:
        said = answers(found.outcome.reply, work.threads)
        reader.right_replies(issue, {root: found.reply(root, said.get(root, "")) for root in work.threads})
    published = found.brought.published
    if published is not None and not published.updated:
        now = task.request.repository.model_copy(update={"default_branch": repository.default_branch})
        found = replace(found, task=replace(task, request=task.request.model_copy(update={"repository": now})))
        opened = repository.issues[published.pull.number]
        reader.right_description(opened, found.description(published.pull.head.base_ref))
