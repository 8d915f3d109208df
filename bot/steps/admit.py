"""A new task: may its asker? Then it is answered at once, or let into the queue."""

from __future__ import annotations

import logging

from bot import conversation_words as said
from bot import jobs, repo_config
from bot.comments import help_text, refused
from bot.github import GitHubUnavailable
from bot.permissions import Decision
from bot.repo_config import ConfigMistake
from bot.repo_rules import DEFAULT_LABEL, Rules
from bot.steps import checks, talk
from bot.steps.answering import NO, PUZZLED, answer
from bot.steps.asks import run
from bot.steps.may import ASK_FOR, by_rules, permission
from bot.steps.repo import rules_of
from bot.steps.verbs import BY_VERB
from bot.steps.world import World
from bot.store import Task
from bot.tasks import Request, Verb
from sandbox import Reason

__all__ = ["ASK_FOR", "admit", "refuse"]

_log = logging.getLogger(__name__)


async def admit(world: World, task: Task) -> Task | None:
    """Decide and answer. None: it waits, and is let go."""
    if task.cancel_requested or task.task_id in world.cancelled:
        return await world.store.finish(task, "cancelled")  # what asked for it is gone again
    if await _speaks_to_nobody(world, task.request):
        return await world.store.finish(task, "refused")
    decision, role = await permission(world, task)
    if not decision.allowed:
        return await refuse(world, task, decision)
    if task.request.command.verb is Verb.HELP:
        mistake = task.request.mistake
        words = help_text(world.rules.command_word, mistake)
        return await answer(world, task, words, "helped", PUZZLED if mistake else "")
    rules = await _rules(world, task)
    if isinstance(rules, Task):
        return rules
    decision = by_rules(task, rules, role)
    if not decision.allowed:
        return await refuse(world, task, decision)
    return await BY_VERB.get(task.request.command.verb, run)(world, task, rules)


async def _speaks_to_nobody(world: World, request: Request) -> bool:
    """A review of a pull request that is not ours: asked of our own rows, before it costs GitHub anything."""
    plain = request.trigger == "review" and request.command.verb is Verb.RUN and not request.command.prompt
    return plain and await world.store.pull(request.repository.id, request.thread) is None


async def _rules(world: World, task: Task) -> Rules | Task:
    """The repository's rules, or the task as it ends for want of them. He may ask, so he is answered."""
    try:
        return await rules_of(world, task)
    except ConfigMistake as error:
        label = task.request.label
        if label is not None and label.lower() != DEFAULT_LABEL:
            return await world.store.finish(task, "refused")  # which labels are meant for us, nobody knows now
        words = said.config_mistake(repo_config.PATH, str(error))
        return await answer(world, task, words, "refused", PUZZLED)
    except GitHubUnavailable as error:
        if world.clock.now() - task.created_at <= ASK_FOR:
            raise
        outcome = jobs.not_prepared(Reason.LOST, f"For a day GitHub could not be asked what is needed ({error}).")
        return await world.store.set_outcome(task, outcome, "failed")


async def refuse(world: World, task: Task, decision: Decision) -> Task:
    """One quiet reaction at most: a sentence for everyone who asks would let anybody make the bot talk.

    Where there is a status comment already (he might, and now may not), it says so instead of "queued" for ever.
    """
    _log.info("task %s: refused: %s", task.task_id, decision.reason)
    if not decision.silent and task.request.trigger != "label":
        await talk.react(world, task, NO)
    if decision.reason is not None:
        await talk.edit(world, task, refused(decision.reason))
        await checks.drop(world, task, refused(decision.reason))
    return await world.store.finish(task, "refused")
