"""What was asked and no webhook told of: found at GitHub itself, and let in as if one had.

GitHub's list of deliveries does not hold a webhook that was never made (an App's webhook switched off, an incident at
GitHub). Looked through are the comments of the last days, the reviews of our own pull requests, and the labels that
start tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from datetime import UTC, datetime

from bot.github import GitHubRefused, GitHubUnavailable
from bot.steps.found import GRACE, Found, Place, threads_in
from bot.steps.reconcile import REACH
from bot.steps.unanswered_comments import Conversations, Lines
from bot.steps.unanswered_labels import Labels
from bot.steps.unanswered_reviews import Reviews
from bot.steps.world import World, where_asked
from bot.tasks import Request

_log = logging.getLogger(__name__)

# Repositories of one look, those asked in last first: each costs two calls, and a third where a pull request has
# changed within the last days.
AT_ONCE = 100


class Unanswered:
    """Looks where somebody has asked before, and not further back than the first time: what an earlier bot was asked
    there is not asked of this one. A text that was edited is left alone: what it said at first is not known."""

    def __init__(self, world: World) -> None:
        self._world = world
        found = Found(world)
        self._conversations = Conversations(world, found)
        self._lines = Lines(world, found)
        self._reviews = Reviews(world, found)
        self._labels = Labels(world, found)

    async def look(self) -> None:
        """Raises nothing of GitHub's: the next look finds the same."""
        for first, last in await self._world.store.asked_in(AT_ONCE):
            where = last.repository
            if not self._world.rules.served.serves(where.owner, where.name):
                continue
            try:
                await self._look(self._place(first, last))
            except GitHubUnavailable as error:
                _log.info("%s/%s could not be looked through: %s", where.owner, where.name, error)

    def _place(self, first: Request, last: Request) -> Place:
        now = datetime.fromtimestamp(self._world.clock.now(), UTC)
        return Place(where_asked(last), since=max(now - REACH, first.created_at), until=now - GRACE)

    async def _look(self, place: Place) -> None:
        await _apart(place, self._conversations.look(place))
        await _apart(place, self._threads(place))

    async def _threads(self, place: Place) -> None:
        """One list of what has changed tells where to look for the rest: in most repositories, nowhere."""
        try:
            changed = threads_in(await self._world.github.written.threads(place.where, place.since))
        except GitHubRefused:  # a repository without issues has no such list, and may have pull requests
            await self._lines.look(place)
            return
        if any(one.pull_request is not None for one in changed):
            await _apart(place, self._lines.look(place))
        still_open = [one for one in changed if one.state == "open"]
        await _apart(place, self._reviews.look(place, still_open))
        await _apart(place, self._labels.look(place, still_open))


async def _apart(place: Place, looking: Awaitable[None]) -> None:
    """What GitHub refuses of one kind is no reason not to look for the others."""
    try:
        await looking
    except GitHubRefused as error:
        _log.info("a part of %s/%s could not be looked through: %s", place.where.owner, place.where.name, error)
