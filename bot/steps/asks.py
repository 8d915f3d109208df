"""A prompt that may be carried out: what it comes down to, whether it may begin now, and its place in the queue."""

from __future__ import annotations

import asyncio
import logging

from bot import conversation_words as said
from bot.asking import Silence, about, by_review, effective
from bot.comments import fetching, queued
from bot.repo_rules import Choice, NotAllowed, Rules, chosen
from bot.steps import talk
from bot.steps.answering import EYES, PUZZLED, answer
from bot.steps.limits import over
from bot.steps.pin import Lost, pinned
from bot.steps.thread_tasks import live_twin, rounds_before, url_of
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import Command
from bot.threads import Head

_log = logging.getLogger(__name__)


async def run(world: World, task: Task, rules: Rules) -> Task | None:
    """One at a time on a thread: whoever asks for the same at the same moment sees the other one."""
    request = task.request
    lock = world.asking.setdefault((request.repository.id, request.thread), asyncio.Lock())
    async with lock:
        return await _run(world, task, rules)


async def _run(world: World, task: Task, rules: Rules) -> Task | None:
    request = task.request
    ours = await world.store.pull(request.repository.id, request.thread) if request.is_pull_request else None
    command = task.work.asked or effective(request, rules, ours)
    if isinstance(command, Silence):
        _log.info("task %s: %s", task.task_id, command)
        return await world.store.finish(task, "refused")
    if by_review(request) and (rounds := await rounds_before(world, task)) >= rules.rounds:
        return await answer(world, task, said.rounds_over(rounds), "refused", "")
    try:
        choice = task.work.choice or chosen(rules, command, about(request, task.work.origin).trigger)
        work = await pinned(world, task)
        await _base_is_there(world, task, choice, work.head)
    except NotAllowed as error:
        return await answer(world, task, said.not_allowed(str(error)), "refused", PUZZLED)
    except Lost:
        return await answer(world, task, said.moved_too_often(), "refused", PUZZLED)
    if (words := await _not_now(world, task, command)) is not None:
        return await answer(world, task, words, "refused", "")
    work = work.model_copy(update={"asked": command, "choice": choice})
    return await enqueue(world, await world.store.set_work(task, work))


async def _not_now(world: World, task: Task, command: Command) -> str | None:
    """Why it does not begin although it may, in words."""
    if (busy := await live_twin(world, task, command)) is not None:
        return said.already(url_of(world, busy), busy.task_id)
    return await over(world, task)


async def _base_is_there(world: World, task: Task, choice: Choice, head: Head | None) -> None:
    """Raises ``NotAllowed`` for a branch that nothing can be based on."""
    if choice.base is None:
        return
    if head is not None:
        if choice.base != head.base_ref:
            raise NotAllowed(said.BASE_OF_PULL)
        return
    if await world.github.publishing.branch_head(where_of(task), choice.base) is None:
        raise NotAllowed(said.no_branch(choice.base))


async def enqueue(world: World, task: Task) -> Task | None:
    """Into the queue, or to a free place at once; either way the asker sees where it is."""
    world.later(talk.react(world, task, EYES), "reaction")
    task = await world.store.admit(task, world.rules.caps)
    if task.started_at is not None:
        return await talk.show(world, task, fetching())
    position, ahead = await place_in_line(world, task.task_id)
    task = await talk.show(world, task, queued(position, ahead))
    await world.store.release(await world.store.set_position(task, position))
    world.wake()  # a place may have come free meanwhile
    return None


async def place_in_line(world: World, task_id: str) -> tuple[int, int]:
    """Position in the queue, 1 being the next, and how many tasks are ahead of it, running ones included."""
    waiting = [name for name, _ in await world.store.queue()]
    position = waiting.index(task_id) + 1 if task_id in waiting else 1
    return position, position - 1 + await world.store.running()
