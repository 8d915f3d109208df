"""Commands that begin no new prompt: status, cancel, retry, pr, diff."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from bot import conversation_words as said
from bot.repo_rules import NotAllowed, Rules, chosen
from bot.steps import talk
from bot.steps.answering import EYES, PUZZLED, THUMB, answer
from bot.steps.asks import run
from bot.steps.thread_tasks import unfinished, url_of
from bot.steps.world import World
from bot.store import Task
from bot.tasks import Ending, TaskState, Verb
from bot.work import Work
from sandbox import Outcome


async def status(world: World, task: Task, rules: Rules) -> Task | None:
    now, lines = world.clock.now(), []
    for one in await unfinished(world, task):
        prompt = (one.work.asked or one.request.command).prompt
        lines.append(said.Line(one.task_id, _state(one), prompt, now - one.created_at, url_of(world, one)))
    return await answer(world, task, said.status(lines), "helped", "")


def _state(task: Task) -> str:
    return {
        TaskState.QUEUED: "waiting" if task.started_at is None else "starting",
        TaskState.PREPARING: "preparing",
        TaskState.RUNNING: "working",
        TaskState.PUBLISHING: "posting",
    }.get(task.state, "done")


async def cancel(world: World, task: Task, rules: Rules) -> Task | None:
    """Whoever may start may stop. What runs is shown as far as it got, in its own comment."""
    stopped = [one for one in await unfinished(world, task) if await world.store.request_cancel(one.task_id)]
    world.wake()
    if task.request.trigger == "check":  # its own check is where it was pressed, and says what became of it
        return await world.store.finish(task, "helped")
    if not stopped:
        return await answer(world, task, said.cancelling(0), "helped", "")
    if task.request.comment_id is None:
        return await answer(world, task, said.cancelling(len(stopped)), "helped", "")
    await talk.react(world, task, THUMB)  # the tasks' own comments say the rest
    return await world.store.finish(task, "helped")


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
        return await _post_again(world, task, last, outcome, last.work)
    asked = last.work.asked or last.request.command
    given = request.command.options.model_dump(exclude_defaults=True)
    again = asked.model_copy(update={"options": asked.options.model_copy(update=given)})
    work = Work(asked=again, source_task=last.task_id)
    return await run(world, await world.store.set_work(task, work), rules)


async def _opened_by(world: World, task: Task) -> Task | None:
    """The task that has opened this pull request of ours, from another thread."""
    ours = await world.store.pull(task.request.repository.id, task.request.thread)
    return await world.store.task(ours.task_id) if ours is not None else None


def _counts(one: Task, task: Task) -> bool:
    return (
        one.task_id != task.task_id
        and one.seq < task.seq
        and (one.admitted_at is not None or one.state is not TaskState.DONE)
    )


def _unposted(task: Task, outcome: Outcome) -> bool:
    """Its work is stored, and it is not where it was to go."""
    changed = outcome.changes is not None and bool(outcome.changes.patch)
    wanted = task.work.choice is not None and task.work.choice.result == "pr"
    return task.ending == "undeliverable" or (
        task.ending == "changed" and changed and wanted and task.work.pull is None
    )


async def bring(world: World, task: Task, rules: Rules) -> Task | None:
    """``pr`` and ``diff``: the last stored result in the other form, without running again."""
    request = task.request
    source = await world.store.with_result(request.repository.id, request.thread)
    outcome = await world.store.outcome(source.task_id) if source else None
    if source is None or outcome is None:
        return await answer(world, task, said.nothing_to_show(), "helped", "")
    options = request.command.options.model_copy(update={"result": "pr" if request.command.verb is Verb.PR else "diff"})
    try:
        choice = chosen(rules, request.command.model_copy(update={"options": options}), request.trigger)
    except NotAllowed as error:
        return await answer(world, task, said.not_allowed(str(error)), "refused", PUZZLED)
    work = source.work.model_copy(update={"choice": choice, "commit": None, "branch": None, "pull": None})
    return await _post_again(world, task, source, outcome, work)


async def _post_again(world: World, task: Task, source: Task, outcome: Outcome, work: Work) -> Task:
    """Hand an earlier task's result to this one, which goes straight to publishing."""
    keep: Ending = "changed" if source.ending in {None, "undeliverable"} else source.ending
    task = await world.store.set_work(task, work.model_copy(update={"source_task": source.task_id, "tidied": False}))
    world.later(talk.react(world, task, EYES), "reaction")
    return await world.store.set_outcome(task, outcome, keep)


Step = Callable[[World, Task, Rules], Awaitable[Task | None]]
BY_VERB: Mapping[Verb, Step] = {
    Verb.STATUS: status,
    Verb.CANCEL: cancel,
    Verb.RETRY: retry,
    Verb.PR: bring,
    Verb.DIFF: bring,
}
