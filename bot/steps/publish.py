"""A stored result into the repository, where that is what was asked for: a pull request, or commits on one."""

from __future__ import annotations

from dataclasses import dataclass

from bot import conversation_words as said
from bot.asking import by_review
from bot.github import GitHubRefused, PullInfo, RepositoryInfo
from bot.publishing import message
from bot.publishing.perform import Published, Refused, Texts, perform
from bot.publishing.plan import Diff, Facts, Push, Why, aimed, own_branch, plan
from bot.publishing.words import aside_note, diff_note, refusal_note
from bot.repo_config import ConfigMistake
from bot.repo_rules import Choice
from bot.steps.may import still
from bot.steps.repo import rules_of
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import Verb
from bot.work import Pull, Work
from sandbox import Outcome


@dataclass(frozen=True)
class Brought:
    """Where the result is. ``note`` says what is not as it was meant; ``published`` None: it is a diff; ``hidden``: not
    a word of the agent's and nothing of the diff may be posted."""

    task: Task
    published: Published | None
    note: str = ""
    hidden: bool = False


async def bring(world: World, task: Task, outcome: Outcome) -> Brought:
    """Do what the task's choice and the facts of now allow. Raises ``GitHubUnavailable``: come back."""
    choice = task.work.choice
    if choice is None:
        return Brought(task, None)
    facts = await _facts(world, task, choice)
    if isinstance(facts, Refused):
        if task.work.pull is not None:
            return await _there(world, task, task.work.pull)
        return await _kept_out(world, task, facts) if choice.result == "pr" else Brought(task, None)
    if task.request.repository.private and not facts.repository.private:
        return Brought(task, None, said.MADE_PUBLIC, hidden=True)
    if task.work.pull is not None:
        return await _there(world, task, task.work.pull)
    if _diff_is_wanted(task):
        return Brought(task, None)
    extra = await _protected(world, task)
    decided: Diff | Push
    if task.work.commit is not None and task.work.aim is not None:
        decided = aimed(task.work.aim)  # what has changed since is our own doing, or seen where the branch is written
    else:
        decided = plan(task.request, task.task_id, choice, outcome, task.work.head, facts, extra)
    if isinstance(decided, Diff):
        return Brought(task, None, diff_note(decided.why, decided.paths, task.task_id))
    if not (await still(world, task)).allowed:
        words = said.permission_lost(task.request.sender.login, world.rules.command_word)
        return Brought(await _refused(world, task), None, words)
    return await _push(world, task, outcome, decided, facts)


async def _there(world: World, task: Task, number: int) -> Brought:
    """It was brought there before: only what follows is to be done. The row may be missing still."""
    work = task.work
    try:
        pull = await world.github.threads.pull(where_of(task), number)
    except GitHubRefused:
        return Brought(task, None, said.is_in(number))
    push = aimed(work.aim) if work.aim else None
    aside, updated = (push.aside, push.pull is not None) if push else (Why.NONE, False)
    found = Published(pull, work.branch or pull.head.ref, work.commit or pull.head.sha, aside, updated)
    known = await world.store.pull(task.request.repository.id, number)
    if (known is not None or not updated) and pull.head.sha == work.commit:
        await world.store.save_pull(await _remembered(world, task, found))
    return Brought(task, found, aside_note(aside))


def _diff_is_wanted(task: Task) -> bool:
    """By whoever asked, in so many words: then nothing is pushed even where a pull request of ours is open."""
    asked = task.work.asked
    return task.request.command.verb is Verb.DIFF or (asked is not None and asked.options.result == "diff")


async def _facts(world: World, task: Task, choice: Choice) -> Facts | Refused:
    """Asked anew: locked, merged, moved and renamed threads were something else when the task began."""
    where, head = where_of(task), task.work.head
    try:
        repository = await world.github.repository(where)
        ours = await _row(world, task)
        if choice.result == "diff" and ours is None:
            return Facts(repository)
        pull = await _pull(world, task, ours)
        if pull is None or (head is None and pull.state == "closed" and not task.request.is_pull_request):
            ours, pull = None, None
        return await _places(world, task, choice, repository, ours, pull)
    except GitHubRefused as error:
        return Refused(error.status, error.words)


async def _places(
    world: World, task: Task, choice: Choice, repository: RepositoryInfo, ours: Pull | None, pull: PullInfo | None
) -> Facts:
    """With what is known of the branches."""
    where, head, publishing = where_of(task), task.work.head, world.github.publishing
    branch = head.ref if head else (ours.branch if ours else None)
    here = head is None or head.repository_id == repository.id
    target = await publishing.branch_head(where, branch) if branch and here else None
    may_push = await publishing.may_push(where, branch) if branch and target else True
    there = choice.base is None or await publishing.branch_head(where, choice.base) is not None
    return Facts(repository, pull, ours, target, may_push, there)


async def _row(world: World, task: Task) -> Pull | None:
    """Our row of the pull request: of the thread itself, or of what was opened for it."""
    request = task.request
    if request.is_pull_request:
        return await world.store.pull(request.repository.id, request.thread)
    return await world.store.pull_of_thread(request.repository.id, request.thread)


async def _pull(world: World, task: Task, ours: Pull | None) -> PullInfo | None:
    """GitHub's word on it."""
    request, where = task.request, where_of(task)
    if request.is_pull_request:
        return await world.github.threads.pull(where, request.thread)
    if ours is None:
        return None
    try:
        return await world.github.threads.pull(where, ours.number)
    except GitHubRefused as error:
        if error.status == 404:
            return None
        raise


async def _protected(world: World, task: Task) -> tuple[str, ...]:
    """The repository's own patterns. A file with a mistake protects everything."""
    try:
        return (await rules_of(world, task)).protected
    except ConfigMistake:
        return ("**",)


async def _kept_out(world: World, task: Task, why: Refused) -> Brought:
    """GitHub does not take it; it is kept, and ``retry`` knows."""
    return Brought(await _refused(world, task), None, refusal_note(why.status, why.words, world.rules.command_word))


async def _refused(world: World, task: Task) -> Task:
    return await world.store.set_work(task, task.work.model_copy(update={"refused": True}))


async def _push(world: World, task: Task, outcome: Outcome, push: Push, facts: Facts) -> Brought:
    work, held = task.work, [task]

    async def save(done: Work) -> None:
        held[0] = await world.store.set_work(held[0], done)

    base = work.head.ref if work.head else push.base
    aside = Push(own_branch(task.request, task.task_id), push.parent, None, base)
    files = outcome.changes.files if outcome.changes else ()
    texts = _texts(world, task, outcome, facts)
    found = await perform(world.github, where_of(task), push, aside, files, texts, work, save)
    if isinstance(found, Refused):
        return await _kept_out(world, held[0], found)
    if facts.ours is not None or not found.updated:  # nobody's own pull request becomes ours by a commit on it
        await world.store.save_pull(await _remembered(world, held[0], found))
    return Brought(held[0], found, aside_note(found.aside))


def _texts(world: World, task: Task, outcome: Outcome, facts: Facts) -> Texts:
    """The default branch may have another name by now than the event had."""
    work = task.work
    repository = task.request.repository.model_copy(update={"default_branch": facts.repository.default_branch})
    request = task.request.model_copy(update={"repository": repository})

    def body(push: Push) -> str:
        return message.body(request, outcome, task.task_id, base=push.base, note=aside_note(push.aside))

    return Texts(
        message.title(request, work.thread_title),
        body,
        message.commit_message(request, work.thread_title, task.task_id, world.rules.github_url),
        work.choice.draft if work.choice else True,
    )


async def _remembered(world: World, task: Task, found: Published) -> Pull:
    """What is kept of the pull request."""
    request = task.request
    known = await world.store.pull(request.repository.id, found.pull.number)
    fresh = known is None or known.task_id != task.task_id
    rounds = (known.rounds if known else 0) + (1 if by_review(request) and fresh else 0)
    return Pull(
        repository_id=request.repository.id,
        number=found.pull.number,
        thread=known.thread if known else request.thread,
        branch=found.branch,
        sha=found.commit,
        rounds=rounds,
        task_id=task.task_id,
    )
