"""Reviews of our own pull requests that no webhook told of: a command, or changes requested.

GitHub has no list of the reviews of a whole repository, and to ask for those of everybody's pull requests would cost a
call for each. Commands in reviews of other pull requests are therefore not found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from bot import commands
from bot.steps.found import Found, Json, Place, Thread
from bot.steps.world import World
from bot.triggers import review
from bot.triggers.review import CHANGES_REQUESTED

# Pull requests whose reviews are asked for in one look at a repository, each a call; those changed last first. One that
# has not changed since is not asked for again, so the rest has its turn in the next looks.
AT_ONCE = 20
# Pull requests of ours that are known again, the newest of a repository. Far more than are ever open at once.
OURS = 1_000
APPROVED = "approved"


class Reviews:
    """Of open pull requests that this bot has made, by its own rows."""

    def __init__(self, world: World, found: Found) -> None:
        self._world = world
        self._found = found

    async def look(self, place: Place, threads: Sequence[Thread]) -> None:
        pulls = [one for one in threads if one.pull_request is not None]
        if not pulls:
            return
        ours = frozenset(await self._world.store.pulls_in(place.where.repository_id, OURS))
        due = [one for one in pulls if one.number in ours and self._found.is_new(place, _state_of(one))]
        for pull in due[:AT_ONCE]:
            await self._of(place, pull)

    async def _of(self, place: Place, pull: Thread) -> None:
        word = self._world.rules.command_word
        written = await self._world.github.written.reviews(place.where, pull.number)
        asking = {
            name: one
            for one in asking_in(written, word, place)
            if self._found.is_new(place, name := f"review-{one.get('id')}")
        }
        unedited = await self._found.unedited(place, asking)
        for name, one in unedited.items():
            await self._found.let_in(place, name, review.parse, partial(self._payload, place, pull.number, one))
        if pull.updated_at <= place.until and not any(self._found.is_new(place, name) for name in asking):
            self._found.settle(place, _state_of(pull))

    async def _payload(self, place: Place, number: int, one: Json) -> Json:
        """The head is the one of now: our branches are in the repository itself, where only writers push."""
        return {
            "action": "submitted",
            "review": one,
            "pull_request": await self._world.github.written.pull(place.where, number),
            "sender": one.get("user"),
        }


def _state_of(pull: Thread) -> str:
    return f"pull-{pull.number}-{pull.updated_at.isoformat()}"


def asking_in(reviews: Sequence[Json], word: str, place: Place) -> list[Json]:
    """Those submitted in that time that may ask for something. Whoever has approved since asks for no changes."""
    return [
        one
        for number, one in enumerate(reviews)
        if place.dates(one.get("submitted_at"))  # a draft has none
        and (
            commands.parse(str(one.get("body") or ""), word) is not None
            or (_state(one) == CHANGES_REQUESTED and not _approved(reviews[number + 1 :], _author(one)))
        )
    ]


def _approved(later: Sequence[Json], author: object) -> bool:
    return any(_state(one) == APPROVED and _author(one) == author for one in later)


def _state(one: Json) -> str:
    return str(one.get("state")).lower()


def _author(one: Json) -> object:
    user = one.get("user")
    return user.get("id") if isinstance(user, Mapping) else None
