"""The check run of a task on a pull request: on the commit that is worked on, from start to end, and on what is pushed.

It is an ornament, but where the conversation is locked: then it stands in for the comments. Where the App lacks the
permission nothing of it is done, and nothing is wrong.
"""

from __future__ import annotations

import logging

from bot import check_words
from bot.check_words import CheckWords
from bot.github import GitHubRefused, GitHubUnavailable
from bot.publishing.perform import Published
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import Ending
from bot.triggers.check_run import external_id
from sandbox import Outcome

_log = logging.getLogger(__name__)

# Times that a task's end is put off for its check's sake. One that says "under way" for ever is a lie, but the thread
# must not wait for it for ever.
TRIES = 5


def stands_in(task: Task) -> bool:
    """Whether the check is all that is seen of the task: there was a comment otherwise before there was a check."""
    return task.status_comment_id is None and task.work.check_run_id is not None


async def begin(world: World, task: Task) -> Task:
    """On the head of the pull request, once that is pinned. Nothing of GitHub's is raised."""
    head = task.work.head
    if head is None or task.work.check_run_id is not None:
        return task
    try:
        return await _made(world, task, head.sha, check_words.running(task.task_id))
    except GitHubUnavailable as error:
        _log.info("task %s: no check run for now: %s", task.task_id, error)
        return task


async def instead(world: World, task: Task, body: str) -> Task | None:
    """What the status comment would say, where GitHub takes none. None where there can be no check run either."""
    request, checks = task.request, world.github.checks
    if not request.is_pull_request or not checks.on:
        return None
    words = check_words.running(task.task_id, body)
    if task.work.check_run_id is not None:
        await _say(world, task, words)
        return task
    try:
        sha = task.work.head.sha if task.work.head else request.head_sha
        sha = sha or (await world.github.threads.pull(where_of(task), request.thread)).head.sha
    except GitHubRefused:
        return None
    made = await _made(world, task, sha, words)
    return None if made.work.check_run_id is None else made


async def end(
    world: World, task: Task, ending: Ending, outcome: Outcome | None, comment: str, published: Published | None,
    *, posted: bool,
) -> tuple[Task, bool]:  # fmt: skip
    """Complete what there is, and show the same on a commit that was pushed. Says whether a check shows the result.

    Raises ``GitHubUnavailable`` a few times: come back.
    """
    words, shown = check_words.ended(task.task_id, ending, outcome, comment, posted=posted), False
    try:
        task = await begin(world, task)
        if task.work.check_run_id is not None:
            shown = await _say(world, task, words)
        if published is not None and (task.work.head is None or published.commit != task.work.head.sha):
            await _on_what_was_pushed(world, task, published, words)
    except GitHubUnavailable as error:
        if task.retries < TRIES:
            raise
        _log.warning("task %s: its check run stays as it is: %s", task.task_id, error)
    return task, shown


async def drop(world: World, task: Task, words: str) -> None:
    """The task comes to nothing. Nothing of GitHub's is raised."""
    if task.work.check_run_id is None:
        return
    try:
        await _say(world, task, check_words.dropped(task.task_id, words))
    except GitHubUnavailable as error:
        _log.info("task %s: its check run stays as it is: %s", task.task_id, error)


def _external(task: Task) -> str:
    """A button leads back to where the task was asked for."""
    return external_id(task.task_id, task.request.thread, issue=not task.request.is_pull_request)


async def _made(world: World, task: Task, sha: str, words: CheckWords) -> Task:
    check_id = await world.github.checks.create(
        where_of(task),
        sha=sha,
        external_id=_external(task),
        title=words.title,
        summary=words.summary,
        actions=words.actions,
    )
    if check_id is None:
        return task
    return await world.store.set_work(task, task.work.model_copy(update={"check_run_id": check_id}))


async def _on_what_was_pushed(world: World, task: Task, published: Published, words: CheckWords) -> None:
    """The newest commit is what people look at. Found again by its id, so repeating makes no second one."""
    checks, where = world.github.checks, where_of(task)
    check_id = await checks.create(
        where,
        sha=published.commit,
        external_id=_external(task),
        title=words.title,
        summary=words.summary,
        actions=words.actions,
    )
    if check_id is not None:
        await checks.update(
            where,
            check_id,
            title=words.title,
            summary=words.summary,
            conclusion=words.conclusion,
            actions=words.actions,
        )


async def _say(world: World, task: Task, words: CheckWords) -> bool:
    return await world.github.checks.update(
        where_of(task),
        task.work.check_run_id or 0,
        title=words.title,
        summary=words.summary,
        conclusion=words.conclusion,
        actions=words.actions,
    )
