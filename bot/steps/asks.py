"""A prompt that may be carried out: what it comes down to, whether it may begin now, and its place in the queue."""

from __future__ import annotations

import logging

from bot import conversation_words as said
from bot.asking import Silence, effective
from bot.comments import fetching, queued
from bot.repo_rules import NotAllowed, Rules, chosen
from bot.steps import talk
from bot.steps.answering import EYES, PUZZLED, answer
from bot.steps.limits import over
from bot.steps.thread_tasks import live_twin, url_of
from bot.steps.world import World
from bot.store import Task

_log = logging.getLogger(__name__)


async def run(world: World, task: Task, rules: Rules) -> Task | None:
    """A prompt: what it comes down to, and whether it may begin now."""
    request = task.request
    ours = await world.store.pull(request.repository.id, request.thread) if request.is_pull_request else None
    command = task.work.asked or effective(request, rules, ours)
    if isinstance(command, Silence):
        _log.info("task %s: %s", task.task_id, command)
        return await world.store.finish(task, "refused")
    by_review = request.trigger == "review" and not request.command.prompt
    if by_review and ours is not None and ours.rounds >= rules.rounds:
        return await answer(world, task, said.rounds_over(ours.rounds), "refused", "")
    try:
        choice = task.work.choice or chosen(rules, command, request.trigger)
    except NotAllowed as error:
        return await answer(world, task, said.not_allowed(str(error)), "refused", PUZZLED)
    if (busy := await live_twin(world, task, command)) is not None:
        return await answer(world, task, said.already(url_of(world, busy), busy.task_id), "refused", "")
    if (words := await over(world, task)) is not None:
        return await answer(world, task, words, "refused", "")
    task = await world.store.set_work(task, task.work.model_copy(update={"asked": command, "choice": choice}))
    return await enqueue(world, task)


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
