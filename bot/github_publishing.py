"""Commits, branches and pull requests through GitHub's API: signed by GitHub, never forced, each safe to repeat."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

from bot import github_documents as documents
from bot import github_urls as urls
from bot.github_calls import Call
from bot.github_graphql import ask
from bot.github_installations import TO_PUBLISH, TO_READ, Installations, expecting
from bot.github_threads import pull_in, quietly
from bot.github_values import (
    BranchMoved,
    BranchProtected,
    CommitSpec,
    GitHubRefused,
    PullInfo,
    RepositoryRef,
    TreeEntry,
)

# Binaries of one commit: each is a request of its own, and GitHub slows down whoever makes more than about 80 a minute.
MAX_BLOBS = 50
# Blobs under way at once.
AT_ONCE = 4
# Of a file that is read by its path.
MAX_FILE_BYTES = 64 * 1024
# GitHub's words where a rule keeps a branch as it is.
_PROTECTED = ("gh006", "gh013", "protected branch", "repository rule", "ruleset")


class Publishing:
    """All that writes to a repository. The token for it is minted with the first call that needs one."""

    def __init__(self, installations: Installations) -> None:
        self._installations = installations

    async def file(
        self, where: RepositoryRef, path: str, ref: str | None = None, *, known: bool = False
    ) -> bytes | None:
        """A small file by its path; None where there is none. Raises ``GitHubRefused`` (413) for a large one.

        ``known``: it was there before, so that its absence must be said twice.
        """
        query: dict[str, str | int] = {"ref": ref} if ref else {}
        call = Call("GET", urls.contents(where, path), query, absent_is_usual=not known)
        data = await quietly(self._installations.call(where, call, TO_READ), None)
        if data is None or isinstance(data, list):
            return None
        with expecting("a file"):
            if data["type"] != "file":
                return None
            if data["size"] > MAX_FILE_BYTES:
                raise GitHubRefused(413, f"{path} is larger than {MAX_FILE_BYTES:,} bytes")
            return base64.b64decode(data["content"])

    async def branch_head(self, where: RepositoryRef, branch: str, *, known: bool = True) -> str | None:
        """The commit that a branch is at; None where there is none of this name.

        ``known``: there should be one, so that its absence must be said twice.
        """
        call = Call("GET", urls.branch(where, branch), absent_is_usual=not known)
        found = await quietly(self._installations.call(where, call, TO_READ), None)
        if found is None:
            return None
        with expecting("a branch"):
            return str(found["object"]["sha"])

    async def may_push(self, where: RepositoryRef, branch: str) -> bool:
        """Whether the branch's rules let the App push to it. What cannot be asked is no."""
        variables = {"owner": where.owner, "name": where.name, "ref": f"refs/heads/{branch}"}
        try:
            data = await ask(self._installations, where, documents.BRANCH_RULE, variables, TO_READ)
        except GitHubRefused:
            return False
        with expecting("a branch's rule"):
            ref = data["repository"]["ref"]
            rule = ref["refUpdateRule"] if ref else None
            return rule is None or rule["viewerCanPush"] is True

    async def commit(self, where: RepositoryRef, spec: CommitSpec) -> str:
        """Make the commit; no branch is at it yet. Making it again makes another one, which nobody sees.

        Raises ``ValueError`` for more binaries than ``MAX_BLOBS``.
        """
        parent = await self._installations.call(where, Call("GET", urls.git_commit(where, spec.parent)), TO_PUBLISH)
        with expecting("a commit"):
            base = str(parent["tree"]["sha"])
        body = {"base_tree": base, "tree": await self._entries(where, spec.entries)}
        tree = await self._make(where, "trees", body)
        # neither author nor committer nor date: with one of them GitHub does not sign
        return await self._make(where, "commits", {"message": spec.message, "tree": tree, "parents": [spec.parent]})

    async def _entries(self, where: RepositoryRef, entries: tuple[TreeEntry, ...]) -> list[Mapping[str, Any]]:
        binaries = [entry for entry in entries if entry.data is not None]
        if len(binaries) > MAX_BLOBS:
            raise ValueError(f"{len(binaries)} binary files are more than the {MAX_BLOBS} that one commit may have")
        gate = asyncio.Semaphore(AT_ONCE)

        async def blob(data: bytes) -> str:
            async with gate:
                return await self._make(
                    where, "blobs", {"content": base64.b64encode(data).decode(), "encoding": "base64"}
                )

        made = await asyncio.gather(*(blob(entry.data or b"") for entry in binaries))
        shas = {entry.path: sha for entry, sha in zip(binaries, made, strict=True)}
        return [_entry(entry, shas) for entry in entries]

    async def _make(self, where: RepositoryRef, kind: str, body: Mapping[str, Any]) -> str:
        async with self._installations.writing(where):
            data = await self._installations.call(where, Call("POST", urls.git(where, kind), body=body), TO_PUBLISH)
        with expecting("an object"):
            return str(data["sha"])

    async def set_branch(self, where: RepositoryRef, branch: str, sha: str, *, expected: str | None) -> None:
        """Put the branch at ``sha``: a new one where ``expected`` is None, else forward from ``expected`` only.

        Fine where it is there already. Raises ``BranchMoved``, ``BranchProtected``.
        """
        now = await self.branch_head(where, branch, known=expected is not None)
        if now == sha:
            return
        if now != expected:
            raise BranchMoved("it is not there any more" if now is None else f"it is at {now[:12]} now")
        if expected is None:
            call = Call("POST", urls.git(where, "refs"), body={"ref": f"refs/heads/{branch}", "sha": sha})
        else:
            call = Call("PATCH", urls.branch_to_write(where, branch), body={"sha": sha, "force": False})

        async def look() -> object:
            return True if await self.branch_head(where, branch) == sha else None

        try:
            async with self._installations.writing(where):
                await self._installations.call(where, call, TO_PUBLISH, look)
        except GitHubRefused as error:
            refusal = _refused(error)
            if isinstance(refusal, BranchMoved) and await look():
                return  # ours, from before: the first look did not see it
            raise refusal from None

    async def find_pull(self, where: RepositoryRef, branch: str) -> PullInfo | None:
        """The open pull request of a branch of this repository."""
        query: dict[str, str | int] = {"head": f"{where.owner}:{branch}", "state": "open", "per_page": 10}
        found = await self._installations.call(where, Call("GET", urls.pulls(where), query), TO_PUBLISH)
        with expecting("a list of pull requests"):
            listed = [pull_in(one) for one in found]
        return next((one for one in listed if one.head.ref == branch), None)

    async def open_pull(
        self, where: RepositoryRef, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> PullInfo:
        """The open pull request of this branch, made if there is none. Where drafts are off it is a ready one."""
        if (found := await self.find_pull(where, branch)) is not None:
            return found
        fields = {"head": branch, "base": base, "title": title, "body": body, "draft": draft}

        async def look() -> PullInfo | None:
            return await self.find_pull(where, branch)

        try:
            async with self._installations.writing(where):
                call = Call("POST", urls.pulls(where), body=fields)
                made = await self._installations.call(where, call, TO_PUBLISH, look)
        except GitHubRefused as error:
            if draft and error.status == 422 and "draft" in error.words.lower():
                return await self.open_pull(where, branch=branch, base=base, title=title, body=body, draft=False)
            raise
        return made if isinstance(made, PullInfo) else pull_in(made)

    async def update_pull(self, where: RepositoryRef, number: int, *, body: str) -> None:
        """Replace the description of a pull request of ours."""
        async with self._installations.writing(where):
            call = Call("PATCH", urls.pull(where, number), body={"body": body})
            await self._installations.call(where, call, TO_PUBLISH)


def _entry(entry: TreeEntry, shas: Mapping[str, str]) -> Mapping[str, Any]:
    if entry.removed:
        return {"path": entry.path, "mode": entry.mode, "type": "blob", "sha": None}
    if entry.text is not None:
        return {"path": entry.path, "mode": entry.mode, "type": "blob", "content": entry.text}
    return {"path": entry.path, "mode": entry.mode, "type": "blob", "sha": shas[entry.path]}


def _refused(error: GitHubRefused) -> Exception:
    """A refusal to move a branch, by what follows from it."""
    words = error.words.lower()
    if any(mark in words for mark in _PROTECTED):
        return BranchProtected(error.words)
    if error.status == 422 and ("fast forward" in words or "already exists" in words or "does not exist" in words):
        return BranchMoved(error.words)
    return error
