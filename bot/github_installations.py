"""Acting as an installation: the right token for each call, and one pace for each installation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from typing import Any, Final

from bot import github_urls as urls
from bot.github_auth import AppCredential, GitHubClock, Key, Permissions, Tokens, mint_body, read_minted
from bot.github_calls import Call, Calls, Look
from bot.github_pace import Pace, Sleep
from bot.github_values import FetchToken, GitHubRefused, GitHubUnavailable, RepositoryRef

# One permissions map for each purpose. Metadata: read is always part of a token; it is named to be explicit.
TO_ASK: Final[Permissions] = {"metadata": "read"}
TO_WRITE_ISSUES: Final[Permissions] = {"issues": "write", "metadata": "read"}
TO_WRITE_PULL_REQUESTS: Final[Permissions] = {"issues": "write", "metadata": "read", "pull_requests": "write"}
TO_FETCH: Final[Permissions] = {"contents": "read", "metadata": "read"}
TO_READ: Final[Permissions] = {"contents": "read", "issues": "read", "metadata": "read", "pull_requests": "read"}
TO_PUBLISH: Final[Permissions] = {"contents": "write", "metadata": "read", "pull_requests": "write"}
TO_CHECK: Final[Permissions] = {"checks": "write", "metadata": "read"}


def to_write(pull_request: bool) -> Permissions:
    """What writing to a thread needs: on a pull request, ``issues`` alone is not enough."""
    return TO_WRITE_PULL_REQUESTS if pull_request else TO_WRITE_ISSUES


class Installations:
    """All installations of one App. Every method may be called at any time, from many tasks at once."""

    def __init__(
        self, calls: Calls, as_app: AppCredential, clock: GitHubClock, *, sleep: Sleep, write_spacing_seconds: float
    ) -> None:
        self._calls = calls
        self._as_app = as_app
        self._tokens = Tokens(self.mint, clock.now)
        self._sleep = sleep
        self._write_spacing_seconds = write_spacing_seconds
        self._app_pace = self._new_pace()
        self._paces: dict[int, Pace] = {}

    async def as_app(self, call: Call) -> Any:
        """``call`` as the App itself."""
        return await self._calls.perform(call, self._as_app, self._app_pace)

    async def call(self, where: RepositoryRef, call: Call, permissions: Permissions, look: Look | None = None) -> Any:
        """``call`` with a token for this repository and purpose."""
        key = Key.of(where.installation_id, where.repository_id, permissions)

        async def token(refused: str | None) -> str:
            return await self._tokens.get(key, refused)

        bound = replace(call, repository_id=where.repository_id)
        return await self._calls.perform(bound, token, self._pace(where.installation_id), look)

    def writing(self, where: RepositoryRef) -> AbstractAsyncContextManager[None]:
        """Held while something is written: one at a time for each installation, spaced."""
        return self._pace(where.installation_id).writing()

    async def serves(self, where: RepositoryRef) -> bool:
        """Whether a token can be had: the installation exists, is not suspended, and includes the repository."""
        try:
            await self._tokens.get(Key.of(where.installation_id, where.repository_id, TO_ASK))
        except GitHubRefused as error:
            if error.status in {403, 404, 422}:
                return False
            raise
        return True

    async def mint(self, installation_id: int, repository_id: int, permissions: Permissions) -> FetchToken:
        """A new token, for exactly this."""
        call = Call("POST", urls.access_tokens(installation_id), body=mint_body(repository_id, permissions))
        try:
            data = await self.as_app(call)
        except GitHubRefused as error:
            if error.status != 401:
                raise
            # Not a no about the repository: the key was changed, or GitHub stumbled. The operator can mend the first.
            raise GitHubUnavailable(f"GitHub does not accept the app's own credentials ({error.words})") from None
        with expecting("a token"):
            return read_minted(data, repository_id, permissions)

    async def end(self, token: FetchToken) -> None:
        """Revoke a token. Raises like any call."""

        async def secret(_: str | None) -> str:
            return token.token.get_secret_value()

        await self._calls.perform(Call("DELETE", urls.OWN_TOKEN, absent_is_usual=True), secret, self._new_pace())

    def take_tokens(self) -> list[FetchToken]:
        """Forget the tokens that are kept and hand over those that still live."""
        return self._tokens.take_all()

    def _new_pace(self) -> Pace:
        return Pace(spacing_seconds=self._write_spacing_seconds, sleep=self._sleep)

    def _pace(self, installation_id: int) -> Pace:
        return self._paces.setdefault(installation_id, self._new_pace())


@contextmanager
def expecting(what: str) -> Iterator[None]:
    """Turn an answer of another shape than GitHub's into ``GitHubUnavailable``: something else answered for it."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError):
        # Without the chain: the answer may hold a token.
        raise GitHubUnavailable(f"GitHub answered with something that is not {what}") from None
