"""A new task: may its asker? Then it is answered at once, or let into the queue."""

from __future__ import annotations

import asyncio
import logging

from bot import conversation_words as said
from bot import jobs, repo_config
from bot.comments import help_text, refused
from bot.github import GitHubRefused, GitHubUnavailable
from bot.permissions import Decision, Facts, Refusal, decide, role_of
from bot.repo_config import ConfigMistake
from bot.repo_rules import may_ask
from bot.steps import checks, talk
from bot.steps.answering import NO, PUZZLED, answer
from bot.steps.asks import run
from bot.steps.repo import rules_of
from bot.steps.verbs import BY_VERB
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import Verb
from sandbox import Reason

_log = logging.getLogger(__name__)

# Seconds for which GitHub is asked again before the answer is no. A day: longer outages have not been seen, and an
# answer to a comment of the day before yesterday helps nobody.
ASK_FOR = 24 * 3600.0


async def admit(world: World, task: Task) -> Task | None:
    """Decide and answer. None: it waits, and is let go."""
    if task.cancel_requested or task.task_id in world.cancelled:
        return await world.store.finish(task, "cancelled")  # what asked for it is gone again
    decision, role = await permission(world, task)
    if not decision.allowed:
        return await refuse(world, task, decision)
    command = task.request.command
    if command.verb is Verb.HELP:
        mistake = task.request.mistake
        words = help_text(world.rules.command_word, mistake)
        return await answer(world, task, words, "helped", PUZZLED if mistake else "")
    try:
        rules = await rules_of(world, task)
    except ConfigMistake as error:
        return await answer(world, task, said.config_mistake(repo_config.PATH, str(error)), "refused", PUZZLED)
    except GitHubUnavailable as error:
        if world.clock.now() - task.created_at <= ASK_FOR:
            raise
        outcome = jobs.not_prepared(Reason.LOST, f"For a day GitHub could not be asked what is needed ({error}).")
        return await world.store.set_outcome(task, outcome, "failed")  # he may ask, so he is answered
    known = role_of(role or "")
    if known is None or not may_ask(rules, task.request.sender.login, known):
        return await refuse(world, task, Decision(allowed=False, reason=Refusal.NO_WRITE))
    return await BY_VERB.get(command.verb, run)(world, task, rules)


async def permission(world: World, task: Task) -> tuple[Decision, str | None]:
    """Ask GitHub for the facts: the decision, and the asker's role.

    Raises ``GitHubUnavailable`` until it has been asked for too long.
    """
    request, where = task.request, where_of(task)
    if not world.rules.served.serves(where.owner, where.name):
        # Asked for nothing: GitHub's rate limit is not for strangers to spend.
        return Decision(allowed=False, reason=Refusal.NOT_SERVED), None
    repository, role = await asyncio.gather(
        world.github.repository(where),
        world.github.collaborator_permission(where, request.sender.login, request.sender.id),
        return_exceptions=True,
    )
    for found in (repository, role):
        if isinstance(found, GitHubUnavailable) and world.clock.now() - task.created_at > ASK_FOR:
            return Decision(allowed=False, reason=Refusal.COULD_NOT_ASK), None
        if isinstance(found, BaseException) and not isinstance(found, GitHubRefused):
            raise found
    facts = Facts(
        permission=role if isinstance(role, str) else None,
        installation_serves_repository=not isinstance(repository, BaseException),
        served=isinstance(repository, BaseException) or world.rules.served.serves(repository.owner, repository.name),
    )
    return decide(request, facts), facts.permission


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
