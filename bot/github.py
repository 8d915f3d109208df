"""The GitHub client: who may, what is there, our reactions and comments, tokens. All that the bot asks of GitHub.

Every method may raise ``GitHubUnavailable`` (keep the work, come back) or ``GitHubRefused`` (final), and is safe to
repeat: after a crash, after an error, and from two tasks at once.
"""

from __future__ import annotations

import asyncio
import logging
import random as _random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import aiohttp
from pydantic import SecretStr

from bot import github_urls as urls
from bot.github_activity import Activity
from bot.github_auth import AppCredential, Clock, GitHubClock
from bot.github_calls import Call, Calls
from bot.github_checks import Checks
from bot.github_comments import Comments
from bot.github_conversation import Conversation
from bot.github_deliveries import Deliveries
from bot.github_http import CALL_TIMEOUT, open_session
from bot.github_installations import (
    TO_ASK,
    TO_CHECK,
    TO_FETCH,
    TO_PUBLISH,
    TO_READ,
    TO_WRITE_ISSUES,
    TO_WRITE_PULL_REQUESTS,
    Installations,
    expecting,
    to_write,
)
from bot.github_installed import Everywhere
from bot.github_pace import WRITE_SPACING_SECONDS, Sleep
from bot.github_publishing import Publishing
from bot.github_rendered import Rendered
from bot.github_retry import RetryLimits
from bot.github_roles import role_in
from bot.github_threads import Threads
from bot.github_values import (
    AppInfo,
    BranchMoved,
    BranchProtected,
    CheckAction,
    CommitSpec,
    DeliveryInfo,
    FetchToken,
    GitHubRefused,
    GitHubUnavailable,
    PullInfo,
    RepositoryInfo,
    RepositoryRef,
    TreeEntry,
)
from bot.github_written import Written
from bot.tasks import Actor

__all__ = [
    "TO_ASK",
    "TO_CHECK",
    "TO_FETCH",
    "TO_PUBLISH",
    "TO_READ",
    "TO_WRITE_ISSUES",
    "TO_WRITE_PULL_REQUESTS",
    "AppInfo",
    "BranchMoved",
    "BranchProtected",
    "CheckAction",
    "CommitSpec",
    "DeliveryInfo",
    "FetchToken",
    "GitHub",
    "GitHubRefused",
    "GitHubUnavailable",
    "PullInfo",
    "RepositoryInfo",
    "RepositoryRef",
    "RetryLimits",
    "TreeEntry",
    "open_session",
    "utc_now",
]

_log = logging.getLogger(__name__)

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
        githubs_clock = GitHubClock(clock)
        calls = Calls(
            session,
            api_url,
            clock=githubs_clock,
            sleep=sleep,
            random=random,
            limits=retry or RetryLimits(),
            timeout=call_timeout,
        )
        as_app = AppCredential(str(app_id), private_key, githubs_clock)
        self._installations = Installations(
            calls, as_app, githubs_clock, sleep=sleep, write_spacing_seconds=write_spacing_seconds
        )
        self._comments = Comments(self._installations, str(app_id))
        self.threads = Threads(self._installations, str(app_id))
        """Reading."""
        self.publishing = Publishing(self._installations)
        """Files, commits, branches and pull requests."""
        self.conversation = Conversation(self._installations, str(app_id))
        """Answers on review threads, labels, hiding."""
        self.checks = Checks(self._installations)
        self.missed = Deliveries(self._installations)
        """Webhooks that did not arrive."""
        self.written = Written(self._installations, str(app_id))
        """Comments of a whole repository."""
        self.rendered = Rendered(self._installations)
        """Texts as they are shown."""
        self.activity = Activity(self._installations)
        """What has moved a branch."""
        self.everywhere = Everywhere(self._installations)
        """Where the App is installed."""

    # Who we are and where we may be.

    async def app(self) -> AppInfo:
        """Our own registration. Refused with 401 where the id and the key do not belong together."""
        data = await self._installations.as_app(Call("GET", urls.APP))
        with expecting("an App"):
            events = tuple(data["events"])
            return AppInfo(id=data["id"], slug=data["slug"], permissions=data["permissions"], events=events)

    async def serves(self, where: RepositoryRef) -> bool:
        """Whether this installation is there, not suspended, and includes this repository: GitHub's word, not the
        webhook's."""
        return await self._installations.serves(where)

    # What is there.

    async def repository(self, where: RepositoryRef) -> RepositoryInfo:
        """The repository as it is now: its default branch and name may have changed since the webhook.

        Refused with 404 where another repository has taken the name.
        """
        data = await self._installations.call(where, Call("GET", urls.repository(where)), TO_ASK)
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
            data = await self._installations.call(where, Call("GET", urls.permission(where, login)), TO_ASK)
        except GitHubRefused as error:
            if error.status == 404:
                return "none"
            raise
        with expecting("a permission"):
            return role_in(data, login, user_id)

    async def writers(self, where: RepositoryRef, actors: Iterable[Actor]) -> frozenset[int]:
        """Ids of those among ``actors`` who may write to the repository; programs never do."""

        async def role(login: str, user_id: int) -> str:
            return await self.collaborator_permission(where, login, user_id)

        return await self.threads.writers(where, actors, role)

    # What we write. ``pull_request``: the thread is one, which needs another permission.

    async def react(self, where: RepositoryRef, comment_id: int, content: str, *, pull_request: bool = False) -> None:
        """React to a comment. Refused with 404 where the comment is gone."""
        await self._comments.react(where, comment_id, content, to_write(pull_request))

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
        return await self._comments.find(where, thread, marker, since, to_write(pull_request))

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
        return await self._comments.create(where, thread, body, marker, since, to_write(pull_request))

    async def edit_comment(
        self, where: RepositoryRef, comment_id: int, body: str, *, pull_request: bool = False
    ) -> None:
        """Replace the text of our comment. Refused with 404 where somebody has deleted it."""
        await self._comments.edit(where, comment_id, body, to_write(pull_request))

    # Tokens for others to hold.

    async def fetch_token(self, where: RepositoryRef) -> FetchToken:
        """A new token that can read the contents of this one repository. Never shared: each is revoked on its own."""
        return await self._installations.mint(where.installation_id, where.repository_id, TO_FETCH)

    async def revoke(self, token: FetchToken) -> None:
        """End a token. Never raises for GitHub's sake: one that has ended already is as good, and one that cannot be
        ended now (logged) ends within its hour."""
        try:
            await self._installations.end(token)
        except GitHubRefused as error:
            if error.status not in {401, 404}:
                _log.warning("a token could not be revoked: %s", error)
        except GitHubUnavailable as error:
            _log.warning("a token could not be revoked and ends at %s: %s", token.expires_at, error)

    async def close(self) -> None:
        """Revoke the tokens that are kept, for at most two seconds. The session is the caller's to close."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                for token in self._installations.take_tokens():
                    await self.revoke(token)
        except TimeoutError:
            _log.warning("not all tokens could be revoked in time; they end within the hour")
