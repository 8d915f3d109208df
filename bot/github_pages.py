"""Lists that come in pages: bounded, newest kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bot.github_auth import Permissions
from bot.github_calls import Call
from bot.github_installations import Installations, expecting
from bot.github_values import RepositoryRef

# GitHub's most; an answer of a hundred long comments stays under the bound on answers.
PER_PAGE = 100


async def pages(
    installations: Installations,
    where: RepositoryRef,
    path: str,
    permissions: Permissions,
    *,
    most: int,
    query: Mapping[str, str | int] | None = None,
) -> list[Mapping[str, Any]]:
    """The items in their order, at most ``most`` pages from the beginning."""
    found: list[Mapping[str, Any]] = []
    for page in range(1, most + 1):
        call = Call("GET", path, {**(query or {}), "per_page": PER_PAGE, "page": page})
        items = await installations.call(where, call, permissions)
        with expecting("a page of a list"):
            if not isinstance(items, list):
                raise TypeError("no list")
            found += items
        if len(items) < PER_PAGE:
            break
    return found


def since(moment: datetime) -> str:
    """A time as GitHub's queries take it: whole seconds of UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
