"""Whether the asker may: GitHub's word and the repository's own rules, asked anew each time."""

from __future__ import annotations

import asyncio

from bot.github import GitHubRefused, GitHubUnavailable
from bot.permissions import Decision, Facts, Refusal, decide, role_of
from bot.repo_config import ConfigMistake
from bot.repo_rules import Rules, may_ask
from bot.steps.repo import rules_of
from bot.steps.world import World, where_of
from bot.store import Task

# Seconds for which GitHub is asked again before the answer is no. A day: longer outages have not been seen, and an
# answer to a comment of the day before yesterday helps nobody.
ASK_FOR = 24 * 3600.0


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


def by_rules(task: Task, rules: Rules, role: str | None) -> Decision:
    """Of somebody who may by GitHub's word: whether he may by the repository's own file."""
    known = role_of(role or "")
    if known is None or not may_ask(rules, task.request.sender.login, known):
        return Decision(allowed=False, reason=Refusal.NO_WRITE)
    return Decision(allowed=True)


async def still(world: World, task: Task) -> Decision:
    """Whether he may by now. A file with a mistake takes nothing away here: what follows tells of it."""
    decision, role = await permission(world, task)
    if not decision.allowed:
        return decision
    try:
        return by_rules(task, await rules_of(world, task), role)
    except ConfigMistake:
        return decision
