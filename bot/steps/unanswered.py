"""Commands that no webhook told of: found in the conversations themselves, and let in as if one had.

GitHub's list of deliveries does not hold a webhook that was never made (an App's webhook switched off, an incident at
GitHub). What is found goes through the trigger that reads webhooks, and the database knows by its content key what has
been carried out already: whatever comes twice is one task.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from bot import commands
from bot.github import GitHubRefused, GitHubUnavailable, RepositoryInfo, RepositoryRef
from bot.github_threads import moment
from bot.steps.reconcile import REACH
from bot.steps.world import World, where_asked
from bot.tasks import Request
from bot.triggers import Context
from bot.triggers.issue_comment import parse

_log = logging.getLogger(__name__)

# A webhook is here within seconds; GitHub's own trouble with them lasts minutes. Who asks twice finds the same task.
GRACE = timedelta(minutes=5)
# Repositories of one look, those asked in last first: each costs a call.
AT_ONCE = 100
# Comments remembered as known; forgotten all at once, which costs a few calls.
REMEMBERED = 20_000
_THREAD = re.compile(r"/issues/([1-9][0-9]{0,17})\Z", re.ASCII)


class Unanswered:
    """Looks where somebody has asked before, and not further back than the first time: what an earlier bot was asked
    there is not asked of this one. A comment that was edited is left alone: what it said at first is not known."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: set[int] = set()

    async def look(self) -> None:
        """Raises nothing of GitHub's: the next look finds the same."""
        for first, last in await self._world.store.asked_in(AT_ONCE):
            where = last.repository
            if not self._world.rules.served.serves(where.owner, where.name):
                continue
            try:
                await self._look(first, last)
            except (GitHubRefused, GitHubUnavailable) as error:
                _log.info("the comments of %s/%s could not be looked through: %s", where.owner, where.name, error)

    async def _look(self, first: Request, last: Request) -> None:
        now = datetime.fromtimestamp(self._world.clock.now(), UTC)
        since = max(now - REACH, first.created_at)
        where = where_asked(last)
        word = self._world.rules.command_word
        written = await self._world.github.written.comments(where, since)
        new = [one for one in written if one.get("id") not in self._known and is_command(one, word, since, now - GRACE)]
        if not new:
            return
        repository = await self._world.github.repository(where)
        for comment in new:
            await self._let_in(where, repository, comment)

    async def _let_in(self, where: RepositoryRef, repository: RepositoryInfo, comment: Mapping[str, Any]) -> None:
        """As its webhook would have been. What is not of a webhook's shape, or whose thread is gone, is passed over."""
        try:
            request = parse(await self._payload(where, repository, comment), self._context(where, comment["id"]))
        except (ValidationError, GitHubRefused) as error:
            _log.info("comment %s is passed over: %s", comment["id"], type(error).__name__)
            return
        if isinstance(request, Request) and await self._world.store.add(request):
            _log.warning("no webhook had told of comment %s: it is a task now", comment["id"])
            self._world.wake()
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known.add(comment["id"])

    def _context(self, where: RepositoryRef, comment_id: int) -> Context:
        delivery = f"found-{where.repository_id}-{comment_id}"
        return Context(delivery, self._world.rules.command_word, self._world.github.written.app_id)

    async def _payload(
        self, where: RepositoryRef, repository: RepositoryInfo, comment: Mapping[str, Any]
    ) -> dict[str, Any]:
        number = int(str(comment["issue_url"]).rpartition("/")[2])
        return {
            "action": "created",
            "comment": comment,
            "issue": await self._world.github.written.issue(where, number),
            "repository": {**repository.model_dump(), "owner": {"login": repository.owner}},
            "sender": comment.get("user"),
            "installation": {"id": where.installation_id},
        }


def is_command(comment: Mapping[str, Any], word: str, since: datetime, until: datetime) -> bool:
    """Made in that time, never edited, and meant for us. Of what is not a comment's shape: no."""
    body, made, url = comment.get("body"), comment.get("created_at"), comment.get("issue_url")
    if not (isinstance(body, str) and isinstance(made, str) and isinstance(url, str) and _THREAD.search(url)):
        return False
    if comment.get("updated_at") != made or not isinstance(comment.get("id"), int):
        return False
    try:
        at = moment(made)
    except ValueError:
        return False
    return since <= at <= until and commands.parse(body, word) is not None
