"""A new task: may its asker? Then it is answered at once (help), or let into the queue."""

from __future__ import annotations

import asyncio
import logging

from bot.comments import fetching, help_text, not_on_pull_requests, queued, refused
from bot.github import GitHubRefused, GitHubUnavailable
from bot.permissions import Decision, Facts, Refusal, decide
from bot.steps import talk
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import Ending, Verb

_log = logging.getLogger(__name__)

EYES = "eyes"
NO = "-1"
PUZZLED = "confused"

# Seconds for which GitHub is asked again before the answer is no. A day: longer outages have not been seen, and an
# answer to a comment of the day before yesterday helps nobody.
ASK_FOR = 24 * 3600.0


async def admit(world: World, task: Task) -> Task | None:
    """Decide and answer. None: it waits, and is let go."""
    decision = await permission(world, task)
    if not decision.allowed:
        return await refuse(world, task, decision)
    if task.request.is_pull_request and task.request.command.verb is Verb.RUN:
        return await answer(world, task, not_on_pull_requests(), "refused", PUZZLED)
    if task.request.command.verb is Verb.HELP:
        mistake = task.request.mistake
        words = help_text(world.rules.command_word, mistake)
        return await answer(world, task, words, "helped", PUZZLED if mistake else "")
    if task.request.command.verb is not Verb.RUN or not task.request.command.prompt:
        # Not carried out yet, and not answered with a task that nobody asked for.
        return await world.store.finish(task, "refused")
    return await enqueue(world, task)


async def permission(world: World, task: Task) -> Decision:
    """Ask GitHub for the facts. Raises ``GitHubUnavailable`` until it has been asked for too long."""
    request, where = task.request, where_of(task)
    if not world.rules.served.serves(where.owner, where.name):
        # Asked for nothing: GitHub's rate limit is not for strangers to spend.
        return Decision(allowed=False, reason=Refusal.NOT_SERVED)
    repository, role = await asyncio.gather(
        world.github.repository(where),
        world.github.collaborator_permission(where, request.sender.login, request.sender.id),
        return_exceptions=True,
    )
    for answer in (repository, role):
        if isinstance(answer, GitHubUnavailable) and world.clock.now() - task.created_at > ASK_FOR:
            return Decision(allowed=False, reason=Refusal.COULD_NOT_ASK)
        if isinstance(answer, BaseException) and not isinstance(answer, GitHubRefused):
            raise answer
    facts = Facts(
        permission=role if isinstance(role, str) else None,
        installation_serves_repository=not isinstance(repository, BaseException),
        served=isinstance(repository, BaseException) or world.rules.served.serves(repository.owner, repository.name),
    )
    return decide(request, facts)


async def refuse(world: World, task: Task, decision: Decision) -> Task:
    """One quiet reaction at most: a sentence for everyone who asks would let anybody make the bot talk.

    Where there is a status comment already (he might, and now may not), it says so instead of "queued" for ever.
    """
    _log.info("task %s: refused: %s", task.task_id, decision.reason)
    if not decision.silent:
        await talk.react(world, task, NO)
    if decision.reason is not None:
        await talk.edit(world, task, refused(decision.reason))
    return await world.store.finish(task, "refused")


async def answer(world: World, task: Task, words: str, ending: Ending, reaction: str) -> Task:
    """One comment, and done."""
    if reaction:
        world.later(talk.react(world, task, reaction), "reaction")
    comment_id = await talk.post(world, task, words, talk.HELP)
    return await world.store.finish(await world.store.set_result_comment(task, comment_id), ending)


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
