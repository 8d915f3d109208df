"""Requests for tests, each different unless told otherwise."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

from bot.tasks import Actor, Command, Repository, Request, Verb

_numbers = itertools.count(1)


def a_request(
    *,
    delivery: str | None = None,
    content: str | None = None,
    repository: int = 1,
    thread: int = 7,
    verb: Verb = Verb.RUN,
    prompt: str = "fix the typo",
    installation: int = 99,
    comment: int | None = None,
    sender: int = 5,
) -> Request:
    number = next(_numbers)
    return Request(
        delivery_id=delivery or f"delivery-{number}",
        content_key=content or f"comment-{number}",
        event="issue_comment",
        installation_id=installation,
        repository=Repository(
            id=repository, owner="octo", name=f"repo{repository}", private=False, default_branch="main"
        ),
        thread=thread,
        is_pull_request=False,
        comment_id=comment or 1000 + number,
        sender=Actor(id=sender, login="alice", type="User"),
        command=Command(verb=verb, prompt=prompt if verb == Verb.RUN else ""),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
