"""Texts as GitHub renders them: in HTML an image has an address with a signature, which a private one needs."""

from __future__ import annotations

from typing import Final

from bot import github_urls as urls
from bot.github_calls import Call
from bot.github_installations import TO_READ, Installations, expecting
from bot.github_values import RepositoryRef

FULL: Final = "application/vnd.github.full+json"


class Rendered:
    """Reads with a token that can read this repository and nothing else."""

    def __init__(self, installations: Installations) -> None:
        self._installations = installations

    async def description(self, where: RepositoryRef, number: int) -> str:
        """Of an issue or pull request."""
        return await self._html(where, urls.issue(where, number))

    async def comment(self, where: RepositoryRef, comment_id: int) -> str:
        """Of a comment in the conversation."""
        return await self._html(where, urls.comment(where, comment_id))

    async def review_comment(self, where: RepositoryRef, comment_id: int) -> str:
        """Of a comment on lines of a pull request."""
        return await self._html(where, urls.review_comment(where, comment_id))

    async def review(self, where: RepositoryRef, number: int, review_id: int) -> str:
        """Of the review itself; its comments on lines are texts of their own."""
        return await self._html(where, urls.review(where, number, review_id))

    async def _html(self, where: RepositoryRef, path: str) -> str:
        found = await self._installations.call(where, Call("GET", path, accept=FULL), TO_READ)
        with expecting("a rendered text"):
            return str(found.get("body_html") or "")
