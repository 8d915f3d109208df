"""Webhooks that never arrived: GitHub keeps a list of them for three days, and sends one again when it is asked to.

GitHub repeats nothing by itself. What was lost while the server was down, or while its proxy was, is asked for here; it
then comes in as any webhook does, and one that had arrived all the same is known by its id and by what it says.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from bot.github import DeliveryInfo, GitHubRefused, GitHubUnavailable
from bot.steps.intervals import past
from bot.steps.world import World
from bot.triggers import TRIGGERS

_log = logging.getLogger(__name__)

# GitHub's own list reaches back so far.
REACH = timedelta(days=3)
# Deliveries asked for in one look. Each comes back as a webhook within seconds; the rest waits for the next look.
AT_ONCE = 50
# Seconds before the same one is asked for again: it may be under way, or what kept it out may be.
NOT_AGAIN_SECONDS = 3600.0
# Times that one is asked for: what fails this often is one that we refuse.
TRIES = 5
# Deliveries remembered; the oldest is forgotten first. Far more than are asked for in three days.
REMEMBERED = 20_000


class Missed:
    """Remembers what it has asked for. After a restart it asks anew, which costs a webhook and no more."""

    def __init__(self, world: World, *, remembered: int = REMEMBERED) -> None:
        self._world = world
        self._remembered = remembered
        self._asked: dict[str, tuple[float, int]] = {}

    async def look(self) -> None:
        """Ask for the oldest of what failed. Raises nothing of GitHub's: the next look finds the same."""
        now = self._world.clock.now()
        try:
            failed = await self._world.github.missed.failed(datetime.fromtimestamp(now, UTC) - REACH)
            due = [one for one in failed if self._due(one, now)]
            for one in due[:AT_ONCE]:
                await self._ask(one, now)
        except (GitHubRefused, GitHubUnavailable) as error:
            _log.warning("missed webhooks could not be looked for: %s", error)
            return
        if due:
            _log.warning("%d webhooks had not arrived; %d are asked for again", len(due), min(len(due), AT_ONCE))

    def _due(self, one: DeliveryInfo, now: float) -> bool:
        if one.event not in TRIGGERS:
            return False
        at, tries = self._asked.get(one.guid, (0.0, 0))
        return tries == 0 or (tries < TRIES and past(now, at, NOT_AGAIN_SECONDS))

    async def _ask(self, one: DeliveryInfo, now: float) -> None:
        """Noted first: one that GitHub refuses to send is not asked for at every look."""
        _, tries = self._asked.pop(one.guid, (0.0, 0))
        while len(self._asked) >= self._remembered:
            self._asked.pop(next(iter(self._asked)))
        self._asked[one.guid] = (now, tries + 1)
        try:
            await self._world.github.missed.again(one.id)
        except GitHubRefused as error:
            _log.info("webhook %s is not sent again: %s", one.guid, error)
