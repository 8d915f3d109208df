"""Our check run on a pull request's head, and whether CI is held back there. Optional: without the permission both are
off, and nothing is wrong."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

from bot import github_urls as urls
from bot.github_calls import Call
from bot.github_installations import TO_CHECK, Installations, expecting
from bot.github_values import CheckAction, GitHubRefused, RepositoryRef

_log = logging.getLogger(__name__)

NAME = "gofer"
# GitHub's bounds, in characters.
MAX_SUMMARY_CHARS = 65_535
MAX_TITLE_CHARS = 255
# Suites of one commit that are looked through: one for each App that checks it. GitHub's most for one call.
MOST_SUITES = 100
# Whose suites are GitHub Actions' workflows. Other Apps say "action required" for reasons of their own.
ACTIONS = "github-actions"

Conclusion = Literal["success", "failure", "neutral", "cancelled", "timed_out", "action_required"]


class Checks:
    """Every call answers None or does nothing where the App may not, or the commit is not there."""

    def __init__(self, installations: Installations) -> None:
        self._installations = installations
        self.on = True
        """Off where the App is known to lack the permission: nothing is asked then."""

    async def create(
        self,
        where: RepositoryRef,
        *,
        sha: str,
        external_id: str,
        title: str,
        summary: str,
        actions: Sequence[CheckAction],
    ) -> int | None:
        """A check in progress, the same one again where it was made already (looked for by ``external_id``)."""
        if not self.on:
            return None
        try:

            async def look() -> dict[str, int] | None:
                made = await self._find(where, sha, external_id)
                return None if made is None else {"id": made}

            body = _body(title, summary, None, actions) | {"name": NAME, "head_sha": sha, "external_id": external_id}
            call = Call("POST", urls.check_runs(where), body=body)
            data = await look()
            if data is None:
                async with self._installations.writing(where):
                    data = await self._installations.call(where, call, TO_CHECK, look)
        except GitHubRefused as error:
            _log.info("no check run: %s", error)
            return None
        with expecting("a check run"):
            return int(data["id"])

    async def update(
        self,
        where: RepositoryRef,
        check_id: int,
        *,
        title: str,
        summary: str,
        conclusion: Conclusion | None,
        actions: Sequence[CheckAction],
    ) -> bool:
        """Say how it stands. A ``conclusion`` completes it. False: it was not changed."""
        if not self.on:
            return False
        try:
            async with self._installations.writing(where):
                call = Call("PATCH", urls.check_run(where, check_id), body=_body(title, summary, conclusion, actions))
                await self._installations.call(where, call, TO_CHECK)
        except GitHubRefused as error:
            _log.info("the check run was not changed: %s", error)
            return False
        return True

    async def held(self, where: RepositoryRef, sha: str) -> bool:
        """Whether GitHub holds workflows of this commit back until somebody approves them."""
        if not self.on:
            return False
        call = Call("GET", urls.check_suites(where, sha), {"per_page": MOST_SUITES})
        try:
            found = await self._installations.call(where, call, TO_CHECK)
        except GitHubRefused as error:
            _log.info("whether CI is held back cannot be asked: %s", error)
            return False
        with expecting("check suites"):
            return any(
                (one["app"] or {}).get("slug") == ACTIONS and one["conclusion"] == "action_required"
                for one in found["check_suites"]
            )

    async def _find(self, where: RepositoryRef, sha: str, external_id: str) -> int | None:
        path = f"{urls.repository(where)}/commits/{sha}/check-runs"
        found = await self._installations.call(
            where, Call("GET", path, {"check_name": NAME, "per_page": 100}), TO_CHECK
        )
        with expecting("check runs"):
            for one in found["check_runs"]:
                if one["external_id"] == external_id:
                    return int(one["id"])
        return None


def _body(title: str, summary: str, conclusion: Conclusion | None, actions: Sequence[CheckAction]) -> dict[str, Any]:
    state = {"status": "in_progress"} if conclusion is None else {"status": "completed", "conclusion": conclusion}
    output = {"title": title[:MAX_TITLE_CHARS], "summary": summary[:MAX_SUMMARY_CHARS]}
    return {**state, "output": output, "actions": [action.model_dump() for action in actions]}
