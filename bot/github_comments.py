"""What we write on a thread, once: reactions and comments."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot import github_pages
from bot import github_urls as urls
from bot.github_auth import Permissions
from bot.github_calls import Call
from bot.github_installations import Installations, expecting
from bot.github_values import RepositoryRef

_log = logging.getLogger(__name__)

# Comments on a page: bounds the size of an answer (github_http.MAX_ANSWER_BYTES), not of a thread.
PAGE = 30
# A thread with more comments than this since the task began is looked through no further: it costs 100 requests.
MAX_PAGES = 100


def is_ours(comment: Mapping[str, Any], app_id: str) -> bool:
    """Made by our App as itself: a person acting through the App has the app noted too, but is no bot."""
    app = comment.get("performed_via_github_app") or {}
    ours = app_id in {str(app.get("id")), app.get("client_id")}
    return ours and (comment.get("user") or {}).get("type") == "Bot"


class Comments:
    """Reactions and comments of the App ``app_id``, whose number or client id this is."""

    def __init__(self, installations: Installations, app_id: str) -> None:
        self._installations = installations
        self._app_id = app_id

    async def react(self, where: RepositoryRef, comment_id: int, content: str, permissions: Permissions) -> None:
        """GitHub keeps one reaction of a kind for each user, so repeating is free."""
        call = Call("POST", urls.reactions(where, comment_id), body={"content": content}, absent_is_usual=True)
        async with self._installations.writing(where):
            await self._installations.call(where, call, permissions)

    async def edit(self, where: RepositoryRef, comment_id: int, body: str, permissions: Permissions) -> None:
        """Replace the text of a comment."""
        call = Call("PATCH", urls.comment(where, comment_id), body={"body": body})
        async with self._installations.writing(where):
            await self._installations.call(where, call, permissions)

    async def find(
        self, where: RepositoryRef, thread: int, marker: str, since: datetime | None, permissions: Permissions
    ) -> int | None:
        """The oldest comment of ours with the marker, page by page."""
        query: dict[str, str | int] = {"per_page": PAGE}
        if since is not None:
            query["since"] = github_pages.since(since)
        for page in range(1, MAX_PAGES + 1):
            call = Call("GET", urls.comments(where, thread), query | {"page": page})
            found = await self._installations.call(where, call, permissions)
            with expecting("a page of comments"):
                for comment in found:
                    if marker in (comment.get("body") or "") and is_ours(comment, self._app_id):
                        return int(comment["id"])
                if len(found) < PAGE:
                    return None
        _log.warning("thread %s/%s#%d is too long to be searched to its end", where.owner, where.name, thread)
        return None

    async def create(
        self,
        where: RepositoryRef,
        thread: int,
        body: str,
        marker: str,
        since: datetime | None,
        permissions: Permissions,
    ) -> int:
        """Look, then post; and look again before each repeat of a post that may have come through."""
        if not marker or marker not in body:
            raise ValueError("the comment must hold its marker, or it could not be found again")

        async def look() -> dict[str, int] | None:
            found = await self.find(where, thread, marker, since, permissions)
            return None if found is None else {"id": found}

        call = Call("POST", urls.comments(where, thread), body={"body": body})
        async with self._installations.writing(where):
            data = await look() or await self._installations.call(where, call, permissions, look)
        with expecting("a comment"):
            return int(data["id"])
