"""Commands that begin no new prompt: status, cancel, retry, pr, diff."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from bot import conversation_words as said
from bot.github import GitHubRefused
from bot.jobs import never_ran
from bot.repo_rules import NotAllowed, Rules, chosen
from bot.steps import talk
from bot.steps.answering import EYES, PUZZLED, THUMB, answer
from bot.steps.asks import run
from bot.steps.held_ci import held
from bot.steps.thread_tasks import unfinished, url_of
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import Command, Ending, Options, TaskState, Verb
from bot.work import Work
from sandbox import Outcome


async def status(world: World, task: Task, rules: Rules) -> Task | None:
    now, lines = world.clock.now(), []
    for one in await unfinished(world, task):
        prompt = (one.work.asked or one.request.command).prompt
        lines.append(said.Line(one.task_id, _state(one), prompt, now - one.created_at, url_of(world, one)))
    words = "\n\n".join(text for text in (said.status(lines), await held(world, task)) if text)
    return await answer(world, task, words, "helped", "")


def _state(task: Task) -> str:
    return {
        TaskState.QUEUED: "waiting" if task.started_at is None else "starting",
        TaskState.PREPARING: "preparing",
        TaskState.RUNNING: "working",
        TaskState.PUBLISHING: "posting",
    }.get(task.state, "done")


async def cancel(world: World, task: Task, rules: Rules) -> Task | None:
    """Whoever may start may stop. What runs is shown as far as it got, in its own comment."""
    stopped = [one for one in await unfinished(world, task) if _stoppable(one, task) and await _stop(world, one)]
    world.wake()
    if task.request.trigger == "check":  # its own check is where it was pressed, and says what became of it
        return await world.store.finish(task, "helped")
    if not stopped:
        return await answer(world, task, said.cancelling(0), "helped", "")
    if task.request.comment_id is None:
        return await answer(world, task, said.cancelling(len(stopped)), "helped", "")
    await talk.react(world, task, THUMB)  # the tasks' own comments say the rest
    return await world.store.finish(task, "helped")


def _stoppable(one: Task, task: Task) -> bool:
    """What was asked for before, and is not being posted already."""
    return one.seq < task.seq and one.state is not TaskState.PUBLISHING


async def _stop(world: World, one: Task) -> bool:
    return await world.store.request_cancel(one.task_id)


async def retry(world: World, task: Task, rules: Rules) -> Task | None:
    """The last task again, with other options where some are given; where only posting failed, only posting."""
    request = task.request
    earlier = [one for one in await world.store.of_thread(request.repository.id, request.thread) if _counts(one, task)]
    last = earlier[0] if earlier else await _opened_by(world, task)
    if last is None:
        return await answer(world, task, said.nothing_to_repeat(), "helped", "")
    if last.state is not TaskState.DONE:
        return await answer(world, task, said.already(url_of(world, last), last.task_id), "refused", "")
    outcome = await world.store.outcome(last.task_id)
    if outcome is not None and _unposted(last, outcome):
        # what did not come to a pull request is decided anew: a branch may have moved since
        kept = last.work if last.work.pull is not None else last.work.model_copy(update=_NOWHERE)
        return await _post_again(world, task, last, outcome, kept)
    origin = last.work.origin or last.request
    asked = with_options(last.work.asked or origin.command, request.command.options)
    work = Work(asked=asked, origin=origin, source_task=last.task_id, onto=last.work.onto)
    return await run(world, await world.store.set_work(task, work), rules)


async def _opened_by(world: World, task: Task) -> Task | None:
    """The task that has opened this pull request of ours, from another thread."""
    ours = await world.store.pull(task.request.repository.id, task.request.thread)
    return await world.store.task(ours.task_id) if ours is not None else None


def with_options(asked: Command, given: Options) -> Command:
    """The same with what was named anew in its place. Pure."""
    named = {name: getattr(given, name) for name in Options.model_fields if getattr(given, name) != _NONE[name]}
    return asked.model_copy(update={"options": asked.options.model_copy(update=named)})


_NONE = {name: getattr(Options(), name) for name in Options.model_fields}
# How tasks end that have brought nothing and were to bring nothing.
_EMPTY = frozenset({"refused", "helped"})


def _counts(one: Task, task: Task) -> bool:
    """Whether there is something of it to repeat. One that was cancelled before it was let in has never been."""
    if one.seq >= task.seq or one.ending in _EMPTY:
        return False
    return one.admitted_at is not None or one.state is not TaskState.DONE or one.ending != "cancelled"


def _unposted(task: Task, outcome: Outcome) -> bool:
    """Its work is stored, and something else than a decision of ours kept it from where it was to go."""
    return not never_ran(outcome) and (task.ending == "undeliverable" or task.work.refused)


async def bring(world: World, task: Task, rules: Rules) -> Task | None:
    """``pr`` and ``diff``: the last stored result in the other form, without running again."""
    request = task.request
    source = await world.store.with_result(request.repository.id, request.thread)
    outcome = await world.store.outcome(source.task_id) if source else None
    if source is None or outcome is None:
        return await answer(world, task, said.nothing_to_show(), "helped", "")
    if request.command.verb is Verb.PR and (number := await _open_already(world, task, source)) is not None:
        return await answer(world, task, said.already_there(number), "refused", "")
    options = request.command.options.model_copy(update={"result": "pr" if request.command.verb is Verb.PR else "diff"})
    try:
        choice = chosen(rules, request.command.model_copy(update={"options": options}), request.trigger)
    except NotAllowed as error:
        return await answer(world, task, said.not_allowed(str(error)), "refused", PUZZLED)
    origin = source.work.origin or source.request
    asked = with_options(source.work.asked or origin.command, Options(result=choice.result))
    fresh = {"choice": choice, "asked": asked, **_NOWHERE}
    return await _post_again(world, task, source, outcome, source.work.model_copy(update=fresh))


async def _open_already(world: World, task: Task, source: Task) -> int | None:
    """The open pull request that holds this very result."""
    number = source.work.pull
    if number is None:
        return None
    try:
        pull = await world.github.threads.pull(where_of(task), number)
    except GitHubRefused:
        return None
    return number if pull.state == "open" else None


async def _post_again(world: World, task: Task, source: Task, outcome: Outcome, work: Work) -> Task:
    """Hand an earlier task's result to this one, which goes straight to publishing."""
    keep: Ending = "changed" if source.ending in {None, "undeliverable"} else source.ending
    again = {
        "origin": source.work.origin or source.request,
        "source_task": source.task_id,
        "refused": False,
        "tidied": False,
        "check_run_id": None,
    }
    task = await world.store.set_work(task, work.model_copy(update=again))
    world.later(talk.react(world, task, EYES), "reaction")
    return await world.store.set_outcome(task, outcome, keep)


# Of a result that is brought somewhere else than it was, or was to be.
_NOWHERE: Mapping[str, None] = {"commit": None, "branch": None, "aim": None, "pull": None}

Step = Callable[[World, Task, Rules], Awaitable[Task | None]]
BY_VERB: Mapping[Verb, Step] = {
    Verb.STATUS: status,
    Verb.CANCEL: cancel,
    Verb.RETRY: retry,
    Verb.PR: bring,
    Verb.DIFF: bring,
}
