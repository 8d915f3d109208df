"""What belongs to a conversation beside comments: answers on review threads, labels, hiding what is out of date."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bot import github_documents as documents
from bot import github_urls as urls
from bot.github_auth import Permissions
from bot.github_calls import Call
from bot.github_comments import is_ours
from bot.github_graphql import ask
from bot.github_installations import TO_WRITE_PULL_REQUESTS, Installations, expecting
from bot.github_pages import pages
from bot.github_threads import quietly
from bot.github_values import RepositoryRef

# Of a pull request's comments on lines, when one of ours is looked for.
MOST_PAGES = 10


class Conversation:
    """Writes as the App; what is there already is left as it is."""

    def __init__(self, installations: Installations, app_id: str) -> None:
        self._installations = installations
        self._app_id = app_id

    async def reply(self, where: RepositoryRef, number: int, root_id: int, body: str, marker: str) -> int:
        """See to it that the review thread has our answer with ``marker`` (part of ``body``), and say its id."""
        if not marker or marker not in body:
            raise ValueError("the answer must hold its marker, or it could not be found again")

        async def look() -> dict[str, int] | None:
            path = urls.review_comments(where, number)
            listed = await pages(self._installations, where, path, TO_WRITE_PULL_REQUESTS, most=MOST_PAGES)
            with expecting("a page of comments"):
                for one in listed:
                    ours = is_ours(one, self._app_id) or (one.get("user") or {}).get("type") == "Bot"
                    if one.get("in_reply_to_id") == root_id and marker in (one.get("body") or "") and ours:
                        return {"id": int(one["id"])}
            return None

        call = Call("POST", urls.replies(where, number, root_id), body={"body": body})
        async with self._installations.writing(where):
            data = await look() or await self._installations.call(where, call, TO_WRITE_PULL_REQUESTS, look)
        with expecting("a comment"):
            return int(data["id"])

    async def react(self, where: RepositoryRef, comment_id: int, content: str) -> None:
        """To a comment on lines. GitHub keeps one of a kind for each user, so repeating is free."""
        call = Call("POST", urls.review_reactions(where, comment_id), body={"content": content}, absent_is_usual=True)
        async with self._installations.writing(where):
            await self._installations.call(where, call, TO_WRITE_PULL_REQUESTS)

    async def remove_label(self, where: RepositoryRef, number: int, name: str, permissions: Permissions) -> None:
        """Fine where it is gone."""
        call = Call("DELETE", urls.label(where, number, name), absent_is_usual=True)
        async with self._installations.writing(where):
            await quietly(self._installations.call(where, call, permissions), None)

    async def minimise(self, where: RepositoryRef, node_ids: Iterable[str], permissions: Permissions) -> None:
        """Hide comments of ours as out of date. Repeating is free."""
        for node in node_ids:
            variables: dict[str, Any] = {"id": node, "reason": documents.OUTDATED}
            async with self._installations.writing(where):
                await ask(self._installations, where, documents.MINIMISE, variables, permissions, absent_is_usual=True)

    async def outdate(self, where: RepositoryRef, comment_id: int, permissions: Permissions) -> None:
        """Hide one comment of a conversation, if GitHub says that it is ours. Fine where it is gone."""
        call = Call("GET", urls.comment(where, comment_id), absent_is_usual=True)
        found = await quietly(self._installations.call(where, call, permissions), None)
        if found is None or not is_ours(found, self._app_id):
            return
        with expecting("a comment"):
            node = str(found["node_id"])
        await self.minimise(where, [node], permissions)
