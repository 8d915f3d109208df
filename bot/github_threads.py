"""Reading a thread: what was said on an issue or pull request, by whom, and what GraphQL alone knows of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from bot import github_documents as documents
from bot import github_urls as urls
from bot.github_calls import Call
from bot.github_graphql import ask
from bot.github_installations import TO_READ, Installations, expecting
from bot.github_pages import pages
from bot.github_values import GitHubRefused, PullInfo, RepositoryRef
from bot.tasks import Actor, Anchor
from bot.threads import Head, Said, Thread

# Pages of a hundred: more than these of comments are never told to an agent (bot.context keeps the newest).
MOST_PAGES = 10
# Authors whose permission is asked for one thread. The rest counts as people who may not write.
MOST_AUTHORS = 50

Json = Mapping[str, Any]


class Threads:
    """Reads with a token that can read this repository and nothing else."""

    def __init__(self, installations: Installations, app_id: str) -> None:
        self._installations = installations
        self._app_id = app_id

    async def read(self, where: RepositoryRef, number: int, *, is_pull_request: bool) -> Thread:
        """All of it. What cannot be asked in GraphQL counts as changed, so that it is left out rather than trusted."""
        issue, comments = await asyncio.gather(
            self._installations.call(where, Call("GET", urls.issue(where, number)), TO_READ),
            pages(self._installations, where, urls.comments(where, number), TO_READ, most=MOST_PAGES),
        )
        said = [*_opening(issue, number), *(_comment(one) for one in comments)]
        nodes = {("body", number): str(issue["node_id"])} | {("comment", one["id"]): one["node_id"] for one in comments}
        head = None
        if is_pull_request:
            head = (await self.pull(where, number)).head
            reviews, lines, resolved = await asyncio.gather(
                pages(self._installations, where, urls.reviews(where, number), TO_READ, most=MOST_PAGES),
                pages(self._installations, where, urls.review_comments(where, number), TO_READ, most=MOST_PAGES),
                self._resolved(where, number),
            )
            said += [_review(one) for one in reviews if one.get("submitted_at")]
            said += [_line(one, resolved) for one in lines]
            nodes |= {("review_comment", one["id"]): one["node_id"] for one in lines}
        edits = await self.edits(where, list(nodes.values()))
        with expecting("an issue"):
            return Thread(
                number=number,
                is_pull_request=is_pull_request,
                title=issue["title"],
                state=issue["state"],
                locked=issue["locked"],
                author=actor(issue["user"]),
                labels=tuple(label["name"] for label in issue["labels"]),
                said=tuple(sorted((_edited(one, nodes, edits) for one in said), key=lambda one: one.created_at)),
                head=head,
            )

    async def pull(self, where: RepositoryRef, number: int) -> PullInfo:
        """A pull request as it is now."""
        return pull_in(await self._installations.call(where, Call("GET", urls.pull(where, number)), TO_READ))

    async def writers(self, where: RepositoryRef, actors: Iterable[Actor], role: Any) -> frozenset[int]:
        """Ids of those who may write. ``role`` asks for one: (login, id) -> GitHub's word."""
        wanted = list({one.id: one for one in actors if one.type == "User"}.values())[:MOST_AUTHORS]
        roles = await asyncio.gather(*(role(one.login, one.id) for one in wanted))
        return frozenset(
            one.id for one, found in zip(wanted, roles, strict=True) if found in {"write", "maintain", "admin"}
        )

    async def _resolved(self, where: RepositoryRef, number: int) -> dict[int, tuple[bool, bool]]:
        """First comment of a review thread -> (resolved, outdated)."""
        found: dict[int, tuple[bool, bool]] = {}
        after: str | None = None
        for _ in range(MOST_PAGES):
            variables = {"owner": where.owner, "name": where.name, "number": number, "after": after}
            data = await ask(self._installations, where, documents.REVIEW_THREADS, variables, TO_READ)
            with expecting("review threads"):
                threads = data["repository"]["pullRequest"]["reviewThreads"]
                for node in threads["nodes"]:
                    for first in node["comments"]["nodes"]:
                        found[int(first["fullDatabaseId"])] = (node["isResolved"], node["isOutdated"])
                after = threads["pageInfo"]["endCursor"] if threads["pageInfo"]["hasNextPage"] else None
            if after is None:
                break
        return found

    async def edits(self, where: RepositoryRef, ids: list[str]) -> dict[str, tuple[datetime | None, bool]]:
        """Node -> (last edit of its text, hidden). One that GitHub knows nothing of is not among them."""
        found: dict[str, tuple[datetime | None, bool]] = {}
        for start in range(0, len(ids), documents.MAX_IDS):
            part = ids[start : start + documents.MAX_IDS]
            data = await ask(self._installations, where, documents.EDITS, {"ids": part}, TO_READ)
            with expecting("edits"):
                for node in data["nodes"]:
                    if node is not None:
                        at = node.get("lastEditedAt")
                        found[node["id"]] = (moment(at) if at else None, bool(node.get("isMinimized")))
        return found


def pull_in(data: Json) -> PullInfo:
    """A pull request in GitHub's answer."""
    with expecting("a pull request"):
        user = data["user"] or {}
        return PullInfo(
            number=data["number"],
            state=data["state"],
            merged=bool(data.get("merged") or data.get("merged_at")),
            draft=bool(data.get("draft")),
            locked=data["locked"],
            title=data["title"],
            url=data["html_url"],
            head=head_of(data),
            by_us=user.get("type") == "Bot",
        )


def moment(text: str) -> datetime:
    """A time as GitHub writes it."""
    made = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if made.tzinfo is None:
        raise ValueError("a time without a zone")
    return made


def actor(user: Json | None) -> Actor | None:
    return None if user is None else Actor(id=user["id"], login=user["login"], type=user["type"])


def head_of(data: Json) -> Head:
    head, base = data["head"], data["base"]
    repository = head["repo"] or {}
    return Head(
        sha=head["sha"],
        ref=head["ref"],
        repository_id=repository.get("id"),
        owner=(repository.get("owner") or {}).get("login", ""),
        name=repository.get("name", ""),
        base_ref=base["ref"],
        base_sha=base["sha"],
        draft=bool(data.get("draft")),
        merged=bool(data.get("merged") or data.get("merged_at")),
        author=actor(data["user"]),
        maintainer_can_modify=bool(data.get("maintainer_can_modify")),
    )


def _opening(issue: Json, number: int) -> list[Said]:
    with expecting("an issue"):
        who, at = actor(issue["user"]), moment(issue["created_at"])
        title = Said(kind="title", id=number, author=who, body=issue["title"], created_at=at)
        return [title, Said(kind="body", id=number, author=who, body=issue["body"] or "", created_at=at)]


def _comment(one: Json) -> Said:
    with expecting("a comment"):
        return Said(
            kind="comment", id=one["id"], author=actor(one["user"]), body=one["body"] or "",
            created_at=moment(one["created_at"]), edited_at=moment(one["updated_at"]),
        )  # fmt: skip


def _review(one: Json) -> Said:
    with expecting("a review"):
        return Said(
            kind="review", id=one["id"], author=actor(one["user"]), body=one["body"] or "",
            created_at=moment(one["submitted_at"]), review_id=one["id"],
        )  # fmt: skip


def _line(one: Json, resolved: dict[int, tuple[bool, bool]]) -> Said:
    with expecting("a review comment"):
        root = one.get("in_reply_to_id") or one["id"]
        done, outdated = resolved.get(root, (False, False))
        anchor = Anchor(
            path=one["path"], line=one.get("line"), start_line=one.get("start_line"), side=one.get("side") or "RIGHT",
            hunk=one.get("diff_hunk") or "", root_id=root,
        )  # fmt: skip
        return Said(
            kind="review_comment", id=one["id"], author=actor(one["user"]), body=one["body"] or "",
            created_at=moment(one["created_at"]), edited_at=moment(one["updated_at"]), resolved=done, outdated=outdated,
            anchor=anchor, review_id=one.get("pull_request_review_id"),
        )  # fmt: skip


def _edited(said: Said, nodes: dict[tuple[str, int], str], edits: dict[str, tuple[datetime | None, bool]]) -> Said:
    """With what GraphQL says of it. A title has no time of its own: it counts as the description's."""
    kind = "body" if said.kind == "title" else said.kind
    node = nodes.get((kind, said.id))
    known = edits.get(node or "")
    if known is None:
        return said
    return said.model_copy(update={"edited_at": known[0], "minimised": known[1]})


async def quietly(found: Any, missing: Any) -> Any:
    """An answer, or ``missing`` where GitHub says that there is none."""
    try:
        return await found
    except GitHubRefused as error:
        if error.status == 404:
            return missing
        raise
