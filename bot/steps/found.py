"""What a look finds that no webhook told of: let in once, and as its webhook would have been.

It goes through the trigger that reads webhooks, and the database knows by its content key what has been carried out
already: whatever comes twice is one task.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from bot.github import GitHubRefused, RepositoryRef
from bot.github_threads import moment
from bot.steps.world import World
from bot.tasks import FOUND, Request
from bot.triggers import Context, Trigger
from bot.triggers.labels import Label
from bot.triggers.shape import Id, Moment, Part, Title

_log = logging.getLogger(__name__)

# A webhook is here within seconds; GitHub's own trouble with them lasts minutes. Who asks twice finds the same task.
GRACE = timedelta(minutes=5)
# Comments, reviews and labels remembered as settled; forgotten all at once, which costs a few calls.
REMEMBERED = 20_000

Json = Mapping[str, Any]
Payload = Callable[[], Awaitable[Json | None]]
"""Asks for the rest of a webhook's payload. None: it cannot be told what the webhook would have said."""


@dataclass
class Place:
    """A repository that is looked through. What is older than ``since`` is not asked of us, and of what is newer than
    ``until`` a webhook may be under way."""

    where: RepositoryRef
    since: datetime
    until: datetime
    facts: Json | None = None
    """The repository as webhooks have it, once it was needed."""

    def holds(self, at: datetime) -> bool:
        return self.since <= at <= self.until

    def dates(self, text: object) -> bool:
        """Whether it holds a time as GitHub writes it; of what is none: no."""
        try:
            return isinstance(text, str) and self.holds(moment(text))
        except ValueError:
            return False


class Thread(Part):
    """An issue or a pull request of the list of both."""

    number: Id
    state: str
    updated_at: Moment
    title: Title = ""
    labels: tuple[Label, ...] = ()
    pull_request: dict[str, object] | None = None
    """There at all only where it is one."""


def threads_in(answer: Iterable[Json]) -> list[Thread]:
    """What is of a thread's shape, in its order."""
    found = []
    for one in answer:
        try:
            found.append(Thread.model_validate(one))
        except ValidationError:
            _log.info("a thread that cannot be read is passed over")
    return found


class Found:
    """The door, and the memory of what needs no second look. A name is the found thing's own within its repository."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._settled: set[tuple[int, str]] = set()

    def is_new(self, place: Place, name: str) -> bool:
        return (place.where.repository_id, name) not in self._settled

    def settle(self, place: Place, name: str) -> None:
        """It needs no second look."""
        if len(self._settled) >= REMEMBERED:
            self._settled.clear()
        self._settled.add((place.where.repository_id, name))

    async def unedited(self, place: Place, texts: Mapping[str, Json]) -> dict[str, Json]:
        """Those that say what they said at first, by name; of the others that is not known, so they are left alone.

        GraphQL alone tells: the REST API's time of change moves without an edit, and a review has none.
        """
        if not texts:
            return {}
        nodes = {name: str(one.get("node_id")) for name, one in texts.items()}
        edits = await self._world.github.threads.edits(place.where, list(nodes.values()))
        kept = {}
        for name, node in nodes.items():
            edited_at, _ = edits.get(node, (None, False))
            if edited_at is not None:
                self.settle(place, name)
            elif node in edits:
                kept[name] = texts[name]
        return kept

    async def let_in(self, place: Place, name: str, trigger: Trigger, payload: Payload) -> bool:
        """Whether it is settled. What is not of a webhook's shape, or whose thread is gone, is passed over."""
        where = place.where
        place.facts = place.facts or await self._facts(where)
        context = Context(
            f"{FOUND}{where.repository_id}-{name}", self._world.rules.command_word, self._world.github.written.app_id
        )
        try:
            more = await payload()
            request = trigger({**place.facts, **more}, context) if more is not None else None
        except (ValidationError, GitHubRefused) as error:
            _log.info("%s of %s/%s is passed over: %s", name, where.owner, where.name, type(error).__name__)
            return False
        if isinstance(request, Request) and await self._world.store.add(request):
            _log.warning("no webhook had told of %s in %s/%s: it is a task now", name, where.owner, where.name)
            self._world.wake()
        self.settle(place, name)
        return True

    async def _facts(self, where: RepositoryRef) -> Json:
        repository = await self._world.github.repository(where)
        return {
            "repository": {**repository.model_dump(), "owner": {"login": repository.owner}},
            "installation": {"id": where.installation_id},
        }
