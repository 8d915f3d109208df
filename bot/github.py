"""The GitHub client: who may, what is there, our reactions and comments, tokens. All that the bot asks of GitHub.

Every method may raise ``GitHubUnavailable`` (keep the work, come back) or ``GitHubRefused`` (final), and is safe to
repeat: after a crash, after an error, and from two tasks at once.
"""

from __future__ import annotations

import asyncio
import logging
import random as _random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp
from pydantic import SecretStr

from bot import github_urls as urls
from bot.github_auth import (
    AppCredential,
    Clock,
    GitHubClock,
    Key,
    Permissions,
    Tokens,
    mint_body,
    read_minted,
)
from bot.github_calls import Call, Calls, Look
from bot.github_http import CALL_TIMEOUT, open_session
from bot.github_pace import WRITE_SPACING_SECONDS, Pace, Sleep
from bot.github_retry import RetryLimits
from bot.github_values import (
    AppInfo,
    FetchToken,
    GitHubRefused,
    GitHubUnavailable,
    RepositoryInfo,
    RepositoryRef,
)

__all__ = [
    "AppInfo",
    "FetchToken",
    "GitHub",
    "GitHubRefused",
    "GitHubUnavailable",
    "RepositoryInfo",
    "RepositoryRef",
    "RetryLimits",
    "open_session",
]

_log = logging.getLogger(__name__)

# One permissions map for each purpose. Metadata: read is always part of a token; it is named to be explicit.
TO_ASK: Final[Permissions] = {"metadata": "read"}
TO_WRITE_ISSUES: Final[Permissions] = {"issues": "write", "metadata": "read"}
TO_WRITE_PULL_REQUESTS: Final[Permissions] = {"issues": "write", "metadata": "read", "pull_requests": "write"}
TO_FETCH: Final[Permissions] = {"contents": "read", "metadata": "read"}

# What GitHub calls the roles, and the legacy level that each must come with. A custom role has a name of its own and
# counts as its level.
ROLES: Final[Mapping[str, str]] = {
    "admin": "admin",
    "maintain": "write",
    "write": "write",
    "triage": "read",
    "read": "read",
    "none": "none",
}

# Comments on a page: bounds the size of an answer (github_http.MAX_ANSWER_BYTES), not of a thread.
PAGE = 30
# A thread with more comments than this since the task began is looked through no further: it costs 100 requests.
MAX_PAGES = 100
# Revoking at the end must not hold up a stop; what is not revoked ends within the hour.
CLOSE_SECONDS = 2.0


def utc_now() -> datetime:
    """The clock of production."""
    return datetime.now(UTC)


class GitHub:
    """One client for one App on one server (GitHub.com, or GHES by ``api_url``: https://HOST/api/v3).

    ``session`` stays the caller's and is closed by him, after ``close``. Mutating calls of one installation run one
    after another and ``write_spacing_seconds`` apart on average. Raises ``ValueError`` for an unusable ``private_key``.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        app_id: str,
        private_key: SecretStr,
        api_url: str = "https://api.github.com",
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        random: Callable[[], float] = _random.random,
        retry: RetryLimits | None = None,
        write_spacing_seconds: float = WRITE_SPACING_SECONDS,
        call_timeout: aiohttp.ClientTimeout = CALL_TIMEOUT,
    ) -> None:
        self._app_id = str(app_id)
        self._clock = GitHubClock(clock)
        self._calls = Calls(
            session,
            api_url,
            clock=self._clock,
            sleep=sleep,
            random=random,
            limits=retry or RetryLimits(),
            timeout=call_timeout,
        )
        self._as_app = AppCredential(self._app_id, private_key, self._clock)
        self._tokens = Tokens(self._mint, self._clock.now)
        self._write_spacing_seconds = write_spacing_seconds
        self._sleep = sleep
        self._app_pace = self._new_pace()
        self._paces: dict[int, Pace] = {}

    # Who we are and where we may be.

    async def app(self) -> AppInfo:
        """Our own registration. Refused with 401 where the id and the key do not belong together."""
        data = await self._calls.perform(Call("GET", urls.APP), self._as_app, self._app_pace)
        with expecting("an App"):
            events = tuple(data["events"])
            return AppInfo(id=data["id"], slug=data["slug"], permissions=data["permissions"], events=events)

    async def serves(self, where: RepositoryRef) -> bool:
        """Whether this installation exists, is not suspended, and includes this repository: GitHub's word, not the
        webhook's."""
        try:
            await self._tokens.get(Key.of(where.installation_id, where.repository_id, TO_ASK))
        except GitHubRefused as error:
            if error.status in {403, 404, 422}:
                return False
            raise
        return True

    # What is there.

    async def repository(self, where: RepositoryRef) -> RepositoryInfo:
        """The repository as it is now: its default branch and name may have changed since the webhook.

        Refused with 404 where another repository has taken the name.
        """
        data = await self._call(where, Call("GET", urls.repository(where)), TO_ASK)
        with expecting("a repository"):
            info = RepositoryInfo(
                id=data["id"],
                owner=data["owner"]["login"],
                name=data["name"],
                private=data["private"],
                default_branch=data["default_branch"],
                archived=data["archived"],
            )
        if info.id != where.repository_id:
            raise GitHubRefused(404, "another repository has this name now")
        return info

    async def collaborator_permission(self, where: RepositoryRef, login: str, user_id: int | None = None) -> str:
        """The role of ``login``: admin, maintain, write, triage, read or none; a custom role counts as its level.

        ``none`` also for somebody unknown, and where ``user_id`` is given and the login is another's by now.
        """
        try:
            data = await self._call(where, Call("GET", urls.permission(where, login)), TO_ASK)
        except GitHubRefused as error:
            if error.status == 404:
                return "none"
            raise
        with expecting("a permission"):
            user = data["user"] or {}
            same_id = user_id is None or user.get("id") == user_id
            if user.get("login", "").lower() != login.lower() or not same_id:
                return "none"
            return role(data["permission"], data.get("role_name", ""))

    # What we write.

    async def react(self, where: RepositoryRef, comment_id: int, content: str, *, pull_request: bool = False) -> None:
        """React to a comment of the thread; GitHub keeps one of a kind for each user, so repeating is free.

        Refused with 404 where the comment is gone.
        """
        call = Call("POST", urls.reactions(where, comment_id), body={"content": content})
        async with self._pace(where.installation_id).writing():
            await self._call(where, call, to_write(pull_request))

    async def find_comment(
        self,
        where: RepositoryRef,
        thread: int,
        marker: str,
        *,
        since: datetime | None = None,
        pull_request: bool = False,
    ) -> int | None:
        """The oldest comment of our own App that holds ``marker``. Others' can hold anything, and do not count.

        ``since`` bounds the search to comments changed from then on, by GitHub's clock.
        """
        query: dict[str, str | int] = {"per_page": PAGE}
        if since is not None:
            query["since"] = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for page in range(1, MAX_PAGES + 1):
            call = Call("GET", urls.comments(where, thread), query | {"page": page})
            found = await self._call(where, call, to_write(pull_request))
            with expecting("a page of comments"):
                for comment in found:
                    if marker in (comment.get("body") or "") and self._is_ours(comment):
                        return int(comment["id"])
                if len(found) < PAGE:
                    return None
        _log.warning("thread %s/%s#%d is too long to be searched to its end", where.owner, where.name, thread)
        return None

    async def create_comment(
        self,
        where: RepositoryRef,
        thread: int,
        body: str,
        marker: str,
        *,
        since: datetime | None = None,
        pull_request: bool = False,
    ) -> int:
        """See to it that the thread has our comment with ``marker`` (part of ``body``), and say its id.

        One that is there already, from a call that seemed to fail or from before a crash, is left as it is.
        """
        if not marker or marker not in body:
            raise ValueError("the comment must hold its marker, or it could not be found again")

        async def look() -> dict[str, int] | None:
            found = await self.find_comment(where, thread, marker, since=since, pull_request=pull_request)
            return None if found is None else {"id": found}

        call = Call("POST", urls.comments(where, thread), body={"body": body})
        async with self._pace(where.installation_id).writing():
            data = await look() or await self._call(where, call, to_write(pull_request), look)
        with expecting("a comment"):
            return int(data["id"])

    async def edit_comment(
        self, where: RepositoryRef, comment_id: int, body: str, *, pull_request: bool = False
    ) -> None:
        """Replace the text of our comment. Refused with 404 where somebody has deleted it."""
        call = Call("PATCH", urls.comment(where, comment_id), body={"body": body})
        async with self._pace(where.installation_id).writing():
            await self._call(where, call, to_write(pull_request))

    # Tokens for others to hold.

    async def fetch_token(self, where: RepositoryRef) -> FetchToken:
        """A new token that can read the contents of this one repository. Never shared: each is revoked on its own."""
        return await self._mint(where.installation_id, where.repository_id, TO_FETCH)

    async def revoke(self, token: FetchToken) -> None:
        """End a token. Never raises for GitHub's sake: one that has ended already is as good, and one that cannot be
        ended now (logged) ends within its hour."""

        async def secret(_: str | None) -> str:
            return token.token.get_secret_value()

        try:
            await self._calls.perform(Call("DELETE", urls.OWN_TOKEN), secret, self._new_pace())
        except GitHubRefused as error:
            if error.status not in {401, 404}:
                _log.warning("a token could not be revoked: %s", error)
        except GitHubUnavailable as error:
            _log.warning("a token could not be revoked and ends at %s: %s", token.expires_at, error)

    async def close(self) -> None:
        """Revoke the tokens that are kept, for at most two seconds. The session is the caller's to close."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                for token in self._tokens.take_all():
                    await self.revoke(token)
        except TimeoutError:
            _log.warning("not all tokens could be revoked in time; they end within the hour")

    # Inside.

    def _is_ours(self, comment: Mapping[str, Any]) -> bool:
        """Made by our App as itself: a person acting through the App has the app noted too, but is no bot."""
        app = comment.get("performed_via_github_app") or {}
        ours = self._app_id in {str(app.get("id")), app.get("client_id")}
        return ours and (comment.get("user") or {}).get("type") == "Bot"

    def _new_pace(self) -> Pace:
        return Pace(spacing_seconds=self._write_spacing_seconds, sleep=self._sleep)

    def _pace(self, installation_id: int) -> Pace:
        return self._paces.setdefault(installation_id, self._new_pace())

    async def _call(self, where: RepositoryRef, call: Call, permissions: Permissions, look: Look | None = None) -> Any:
        """``call`` with a token for this repository and purpose."""
        key = Key.of(where.installation_id, where.repository_id, permissions)

        async def token(refused: str | None) -> str:
            return await self._tokens.get(key, refused)

        bound = replace(call, repository_id=where.repository_id)
        return await self._calls.perform(bound, token, self._pace(where.installation_id), look)

    async def _mint(self, installation_id: int, repository_id: int, permissions: Permissions) -> FetchToken:
        call = Call("POST", urls.access_tokens(installation_id), body=mint_body(repository_id, permissions))
        data = await self._calls.perform(call, self._as_app, self._app_pace)
        with expecting("a token"):
            return read_minted(data, repository_id, permissions)


@contextmanager
def expecting(what: str) -> Iterator[None]:
    """Turn an answer of another shape than GitHub's into ``GitHubUnavailable``: something else answered for it."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError):
        # Without the chain: the answer may hold a token.
        raise GitHubUnavailable(f"GitHub answered with something that is not {what}") from None


def to_write(pull_request: bool) -> Permissions:
    """What writing to a thread needs: on a pull request, ``issues`` alone is not enough."""
    return TO_WRITE_PULL_REQUESTS if pull_request else TO_WRITE_ISSUES


def role(permission: str, role_name: str) -> str:
    """One of ``ROLES``. A name that does not go with its level counts as the level; an unknown level as none."""
    if ROLES.get(role_name) == permission:
        return role_name
    return permission if permission in {"admin", "write", "read"} else "none"
