"""Commands in comments that no webhook told of: in conversations, and on lines of pull requests."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial

from bot import commands
from bot.steps.found import Found, Json, Place
from bot.steps.world import World
from bot.triggers import Trigger, issue_comment, review_comment

_THREAD = re.compile(r"/(?:issues|pulls)/([1-9][0-9]{0,17})\Z", re.ASCII)


class Comments(ABC):
    """Of one kind. ``prefix`` keeps its numbers apart from those of the other kind."""

    prefix: str
    trigger: Trigger

    def __init__(self, world: World, found: Found) -> None:
        self._world = world
        self._written = world.github.written
        self._found = found

    async def look(self, place: Place) -> None:
        word = self._world.rules.command_word
        commanding = {
            name: one
            for one in await self.since(place)
            if self._found.is_new(place, name := f"{self.prefix}{one.get('id')}") and is_command(one, word, place)
        }
        for name, one in (await self._found.unedited(place, commanding)).items():
            await self._found.let_in(place, name, self.trigger, partial(self._payload, place, one))

    async def _payload(self, place: Place, comment: Json) -> Json:
        thread = await self.thread(place, comment)
        return {"action": "created", "comment": comment, "sender": comment.get("user"), **thread}

    @abstractmethod
    async def since(self, place: Place) -> list[Json]:
        """All that were made or changed since then."""

    @abstractmethod
    async def thread(self, place: Place, comment: Json) -> Json:
        """What it stands on, as its webhook has it."""


class Conversations(Comments):
    """Of issues and of pull requests."""

    prefix = ""
    trigger = staticmethod(issue_comment.parse)

    async def since(self, place: Place) -> list[Json]:
        return await self._written.comments(place.where, place.since)

    async def thread(self, place: Place, comment: Json) -> Json:
        return {"issue": await self._written.issue(place.where, number_in(comment["issue_url"]))}


class Lines(Comments):
    """On lines of pull requests. A comment that was drafted before the time that is looked through, and sent with its
    review within it, is not found."""

    prefix = "line-"
    trigger = staticmethod(review_comment.parse)

    async def since(self, place: Place) -> list[Json]:
        return await self._written.line_comments(place.where, place.since)

    async def thread(self, place: Place, comment: Json) -> Json:
        pull = await self._written.pull(place.where, number_in(comment["pull_request_url"]))
        return {"pull_request": as_it_was(pull, place.where.repository_id, comment.get("original_commit_id"))}


def is_command(comment: Json, word: str, place: Place) -> bool:
    """Made and sent in that time, and meant for us. Of what is not a comment's shape: no."""
    body = comment.get("body")
    thread = number_in(comment.get("issue_url", comment.get("pull_request_url")))
    if not isinstance(body, str) or not isinstance(comment.get("id"), int) or not thread:
        return False
    # of one that waited for its review to be sent, the time of change is when it was
    inside = place.dates(comment.get("created_at")) and place.dates(comment.get("updated_at"))
    return inside and commands.parse(body, word) is not None


def number_in(url: object) -> int:
    """Of the thread that an address leads to; 0 where it leads to none."""
    found = _THREAD.search(url) if isinstance(url, str) else None
    return int(found[1]) if found else 0


def as_it_was(pull: object, repository_id: int, written_on: object) -> object:
    """The pull request with the head to work on. Its webhook would have had the one of its moment. What was pushed to
    this repository since was pushed by somebody who may write, and counts; to a fork anybody may have pushed, so there
    it is the commit that the words were written on."""
    if not isinstance(pull, Mapping) or is_here(pull, repository_id):
        return pull
    return {**pull, "head": {"sha": written_on}}


def is_here(pull: Json, repository_id: int) -> bool:
    """Whether its branch is the repository's own."""
    head = pull.get("head")
    repository = head.get("repo") if isinstance(head, Mapping) else None
    return isinstance(repository, Mapping) and repository.get("id") == repository_id
