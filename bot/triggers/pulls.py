"""What is read of a pull request in the payloads that have one. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from bot.triggers.shape import Id, Part, Title, User

Sha = Annotated[str, StringConstraints(pattern=r"\A(?:[0-9a-f]{40}|[0-9a-f]{64})\z")]


class Head(Part):
    sha: Sha


class PullRequest(Part):
    """Its head is the one of the event's moment: no later one is ever worked on."""

    number: Id
    head: Head
    user: User | None = None
    title: Title = ""
