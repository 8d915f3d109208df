"""A stored result into the repository, where that is what was asked for: a pull request, or commits on one."""

from __future__ import annotations

from dataclasses import dataclass

from bot.github import GitHubRefused, PullInfo
from bot.publishing import message
from bot.publishing.perform import Published, Refused, Texts, perform
from bot.publishing.plan import PREFIX, Diff, Facts, Push, Why, own_branch, plan
from bot.publishing.words import aside_note, diff_note, refusal_note
from bot.repo_config import ConfigMistake
from bot.steps.repo import rules_of
from bot.steps.world import World, where_of
from bot.store import Task
from bot.work import Pull, Work
from sandbox import Outcome


@dataclass(frozen=True)
class Brought:
    """Where the result is. ``note`` says what is not as it was meant; ``published`` None: it is a diff."""

    task: Task
    published: Published | None
    note: str = ""


async def bring(world: World, task: Task, outcome: Outcome) -> Brought:
    """Do what the task's choice and the facts of now allow. Raises ``GitHubUnavailable``: come back."""
    choice = task.work.choice
    if choice is None:
        return Brought(task, None)
    facts = await _facts(world, task)
    if isinstance(facts, Refused):
        return Brought(task, None, refusal_note(facts.status, facts.words, world.rules.command_word))
    extra = await _protected(world, task)
    decided = plan(task.request, task.task_id, choice, outcome, task.work.head, facts, extra)
    if isinstance(decided, Diff):
        return Brought(task, None, diff_note(decided.why, decided.paths, task.task_id))
    return await _push(world, task, outcome, decided)


async def _facts(world: World, task: Task) -> Facts | Refused:
    """Asked anew: locked, merged, moved and renamed threads were something else when the task began."""
    request, where, head, choice = task.request, where_of(task), task.work.head, task.work.choice
    try:
        repository = await world.github.repository(where)
        ours, pull = await _pull(world, task)
        branch = head.ref if head else (ours.branch if ours else None)
        target = await world.github.publishing.branch_head(where, branch) if branch else None
        may_push = await world.github.publishing.may_push(where, branch) if branch and target else True
        base = choice.base if choice else None
        base_there = base is None or await world.github.publishing.branch_head(where, base) is not None
    except GitHubRefused as error:
        return Refused(error.status, error.words)
    mine = ours if request.is_pull_request is False or (ours and ours.number == request.thread) else None
    return Facts(repository, pull, mine, target, may_push, base_there)


async def _pull(world: World, task: Task) -> tuple[Pull | None, PullInfo | None]:
    """Our row and GitHub's word: of the thread itself, or of what was opened for it."""
    request, where = task.request, where_of(task)
    if request.is_pull_request:
        ours = await world.store.pull(request.repository.id, request.thread)
        return ours, await world.github.threads.pull(where, request.thread)
    ours = await world.store.pull_of_thread(request.repository.id, request.thread)
    if ours is None:
        return None, None
    try:
        return ours, await world.github.threads.pull(where, ours.number)
    except GitHubRefused as error:
        if error.status == 404:
            return None, None
        raise


async def _protected(world: World, task: Task) -> tuple[str, ...]:
    """The repository's own patterns. A file with a mistake protects everything."""
    try:
        return (await rules_of(world, task)).protected
    except ConfigMistake:
        return ("**",)


async def _push(world: World, task: Task, outcome: Outcome, push: Push) -> Brought:
    request, where, work = task.request, where_of(task), task.work
    held = [task]

    async def save(done: Work) -> None:
        held[0] = await world.store.set_work(held[0], done)

    draft = work.choice.draft if work.choice else True
    title = message.title(request, work.thread_title)
    note = aside_note(push.aside)
    texts = Texts(
        title,
        message.body(request, outcome, task.task_id, base=push.base, note=note),
        message.commit_message(request, work.thread_title, task.task_id, world.rules.github_url),
        draft,
    )
    base = work.head.ref if work.head else push.base
    aside = Push(own_branch(request, task.task_id), push.parent, None, base)
    files = outcome.changes.files if outcome.changes else ()
    found = await perform(world.github, where, push, aside, files, texts, work, save)
    task = held[0]
    if isinstance(found, Refused):
        return Brought(task, None, refusal_note(found.status, found.words, world.rules.command_word))
    if found.branch.startswith(PREFIX):  # nobody's own branch becomes ours by a commit on it
        await world.store.save_pull(await _row(world, task, found))
    return Brought(task, found, aside_note(found.aside) if found.aside is not Why.NONE else "")


async def _row(world: World, task: Task, found: Published) -> Pull:
    """What is remembered of the pull request."""
    request = task.request
    known = await world.store.pull(request.repository.id, found.pull.number)
    by_review = request.trigger == "review" and not request.command.prompt
    fresh = known is None or known.task_id != task.task_id
    rounds = (known.rounds if known else 0) + (1 if by_review and fresh else 0)
    return Pull(
        repository_id=request.repository.id,
        number=found.pull.number,
        thread=known.thread if known else request.thread,
        branch=found.branch,
        sha=found.commit,
        rounds=rounds,
        task_id=task.task_id,
    )
