"""What was written in a whole repository as GitHub sends it, in the shape that its webhooks have too."""

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
# Pages of one look: five hundred issues and pull requests. What has changed last comes first, and looks are frequent.
MOST_THREAD_PAGES = 5
# Pages of one pull request's reviews, and of one thread's events, both of which GitHub sends oldest first.
MOST_PAGES_OF_ONE = 10

Json = Mapping[str, Any]


class Written:
    """Reads only. What is answered is not judged here: who reads it holds it against the shape that he needs."""

    def __init__(self, installations: Installations, app_id: str) -> None:
        self._installations = installations
        self.app_id = app_id

    async def comments(self, where: RepositoryRef, since: datetime) -> list[Json]:
        """Of all issues and pull requests, made or changed since then, oldest first; the oldest two thousand."""
        return await self._since(where, urls.all_comments(where), since)

    async def line_comments(self, where: RepositoryRef, since: datetime) -> list[Json]:
        """The same of the comments on lines of pull requests."""
        return await self._since(where, urls.all_review_comments(where), since)

    async def threads(self, where: RepositoryRef, since: datetime) -> list[Json]:
        """Issues and pull requests, open and closed, that anything has happened to since then; the last changed first,
        and five hundred of them."""
        query = {"since": github_pages.since(since), "state": "all", "sort": "updated", "direction": "desc"}
        return await self._pages(where, urls.issues(where), MOST_THREAD_PAGES, query)

    async def reviews(self, where: RepositoryRef, number: int) -> list[Json]:
        """Of one pull request, oldest first; the oldest thousand."""
        return await self._pages(where, urls.reviews(where, number), MOST_PAGES_OF_ONE)

    async def events(self, where: RepositoryRef, number: int) -> list[Json]:
        """Of one issue or pull request, oldest first. None of a thread with a thousand: the last is out of reach."""
        found = await self._pages(where, urls.events(where, number), MOST_PAGES_OF_ONE)
        return found if len(found) < MOST_PAGES_OF_ONE * github_pages.PER_PAGE else []

    async def issue(self, where: RepositoryRef, number: int) -> object:
        """An issue or a pull request, as the comments of it have it in their webhooks."""
        return await self._installations.call(where, Call("GET", urls.issue(where, number)), TO_READ)

    async def pull(self, where: RepositoryRef, number: int) -> object:
        """A pull request, as its reviews have it in their webhooks; its head is the one of now."""
        return await self._installations.call(where, Call("GET", urls.pull(where, number)), TO_READ)

    async def _since(self, where: RepositoryRef, path: str, since: datetime) -> list[Json]:
        query = {"since": github_pages.since(since), "sort": "created", "direction": "asc"}
        return await self._pages(where, path, MOST_PAGES, query)

    async def _pages(
        self, where: RepositoryRef, path: str, most: int, query: Mapping[str, str | int] | None = None
    ) -> list[Json]:
        found = await github_pages.pages(self._installations, where, path, TO_READ, most=most, query=query)
        return [one for one in found if isinstance(one, Mapping)]
