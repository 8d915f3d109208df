"""The comments of a whole repository as GitHub sends them, in the shape that its webhooks have too."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bot import github_urls as urls
from bot.github_calls import Call
from bot.github_installations import TO_READ, Installations
from bot.github_values import GitHubUnavailable, RepositoryRef

PER_PAGE = 100
# Pages of one look: two thousand comments are more than three days of one repository bring.
MOST_PAGES = 20

Json = dict[str, Any]


class Written:
    """Reads only. What is answered is not judged here: who reads it holds it against the shape that he needs."""

    def __init__(self, installations: Installations, app_id: str) -> None:
        self._installations = installations
        self.app_id = app_id

    async def comments(self, where: RepositoryRef, since: datetime) -> list[Json]:
        """Of all issues and pull requests, made or changed since then, oldest first; the oldest two thousand."""
        query: dict[str, str | int] = {
            "since": since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "sort": "created",
            "direction": "asc",
            "per_page": PER_PAGE,
        }
        found: list[Json] = []
        for page in range(1, MOST_PAGES + 1):
            call = Call("GET", urls.all_comments(where), {**query, "page": page})
            listed = await self._installations.call(where, call, TO_READ)
            if not isinstance(listed, list):
                raise GitHubUnavailable("GitHub's list of comments is none")
            found += [one for one in listed if isinstance(one, dict)]
            if len(listed) < PER_PAGE:
                break
        return found

    async def issue(self, where: RepositoryRef, number: int) -> object:
        """An issue or a pull request, as the comments of it have it in their webhooks."""
        return await self._installations.call(where, Call("GET", urls.issue(where, number)), TO_READ)
