"""The comments of a whole repository as GitHub sends them, in the shape that its webhooks have too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot import github_pages
from bot import github_urls as urls
from bot.github_calls import Call
from bot.github_installations import TO_READ, Installations
from bot.github_values import RepositoryRef

# Pages of one look: two thousand comments are more than three days of one repository bring.
MOST_PAGES = 20


class Written:
    """Reads only. What is answered is not judged here: who reads it holds it against the shape that he needs."""

    def __init__(self, installations: Installations, app_id: str) -> None:
        self._installations = installations
        self.app_id = app_id

    async def comments(self, where: RepositoryRef, since: datetime) -> list[Mapping[str, Any]]:
        """Of all issues and pull requests, made or changed since then, oldest first; the oldest two thousand."""
        query = {"since": github_pages.since(since), "sort": "created", "direction": "asc"}
        path = urls.all_comments(where)
        found = await github_pages.pages(self._installations, where, path, TO_READ, most=MOST_PAGES, query=query)
        return [one for one in found if isinstance(one, Mapping)]

    async def issue(self, where: RepositoryRef, number: int) -> object:
        """An issue or a pull request, as the comments of it have it in their webhooks."""
        return await self._installations.call(where, Call("GET", urls.issue(where, number)), TO_READ)
