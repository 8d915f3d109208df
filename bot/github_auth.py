"""How we prove who we are: the App's JWT, and installation tokens for one repository and one purpose each.

A token is asked for with exactly one repository id and an explicit permissions map, kept under installation +
repository + permissions, renewed before it ends, and asked for once more when GitHub calls it bad (a job outlives
a token's hour). Nobody holds a token: it is asked for with every call.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from bot.github_retry import Failure, http_date
from bot.github_values import FetchToken, GitHubRefused

_log = logging.getLogger(__name__)

# GitHub refuses an issue time in its future and an end more than 10 minutes off: a minute back and 8 ahead (9 in
# all) leaves room for a clock that is a minute fast or slow.
JWT_BACKDATED = timedelta(seconds=60)
JWT_LIFE = timedelta(seconds=480)
# A token lives for an hour. One that could end during the call that it is for is renewed first.
RENEW_BEFORE_END = timedelta(minutes=5)
# About 1 kB each. The oldest goes first; it is only minted again.
MAX_TOKENS = 1000
# Locks that concurrent askers of one key meet at; a fixed number, so that no list of keys can grow.
LOCKS = 64
# A smaller difference is the answer's way and the Date header's whole seconds. A larger one is not a clock any more.
SKEW_NOTICED = timedelta(seconds=5)
SKEW_BELIEVED = timedelta(hours=24)

Clock = Callable[[], datetime]
Permissions = Mapping[str, str]
Mint = Callable[[int, int, Permissions], Awaitable[FetchToken]]


class GitHubClock:
    """GitHub's time: our clock, set right by the Date of its answers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._skew = timedelta()

    def now(self) -> datetime:
        return self._clock() + self._skew

    def learn(self, headers: Mapping[str, str]) -> None:
        """Take the difference from an answer's headers; an unreadable or absurd one is ignored."""
        moment = http_date(headers.get("date", ""))
        if moment is None:
            return
        skew = moment - self._clock()
        if abs(skew - self._skew) > SKEW_NOTICED and abs(skew) < SKEW_BELIEVED:
            _log.warning("our clock and GitHub's differ by %.0f s", skew.total_seconds())
            self._skew = skew if abs(skew) > SKEW_NOTICED else timedelta()


def load_key(private_key: SecretStr) -> rsa.RSAPrivateKey:
    """Read the App's key. Costs tens of milliseconds, so once. Raises ``ValueError`` without a word of the key."""
    try:
        key = serialization.load_pem_private_key(normal_pem(private_key.get_secret_value()).encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("the App's private key is no unencrypted PEM key") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("the App's private key is no RSA key")
    return key


def app_jwt(app_id: str, key: rsa.RSAPrivateKey, now: datetime) -> str:
    """The App's own credential, good for 8 minutes from ``now``."""
    claims = {
        "iss": str(app_id),
        "iat": int((now - JWT_BACKDATED).timestamp()),
        "exp": int((now + JWT_LIFE).timestamp()),
    }
    return jwt.encode(claims, key, algorithm="RS256")


def normal_pem(text: str) -> str:
    r"""A PEM key whose line ends came through an environment file as a literal ``\n``."""
    return text.replace("\\n", "\n").strip() + "\n"


@dataclass(frozen=True)
class Key:
    """What a token is for. Two uses share a token only if all of it is the same."""

    installation_id: int
    repository_id: int
    permissions: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, installation_id: int, repository_id: int, permissions: Permissions) -> Key:
        return cls(installation_id, repository_id, tuple(sorted(permissions.items())))


class Tokens:
    """The cache of installation tokens. Concurrent askers of one key wait for one mint."""

    def __init__(self, mint: Mint, now: Clock) -> None:
        self._mint = mint
        self._now = now
        self._kept: OrderedDict[Key, FetchToken] = OrderedDict()
        self._locks = tuple(asyncio.Lock() for _ in range(LOCKS))

    async def get(self, key: Key, refused: str | None = None) -> str:
        """A token that lives for at least five minutes more. ``refused`` is one that GitHub called bad: not that.

        Raises what minting raises.
        """
        async with self._locks[hash(key) % LOCKS]:
            kept = self._kept.get(key)
            if kept is not None and self._good(kept, refused):
                return kept.token.get_secret_value()
            self._kept.pop(key, None)
            fresh = await self._mint(key.installation_id, key.repository_id, dict(key.permissions))
            self._keep(key, fresh)
            return fresh.token.get_secret_value()

    def take_all(self) -> list[FetchToken]:
        """Forget all tokens and hand over those that still live, to be revoked."""
        kept = [token for token in self._kept.values() if token.expires_at > self._now()]
        self._kept.clear()
        return kept

    def _good(self, token: FetchToken, refused: str | None) -> bool:
        fresh = token.expires_at - RENEW_BEFORE_END > self._now()
        return fresh and token.token.get_secret_value() != refused

    def _keep(self, key: Key, token: FetchToken) -> None:
        self._kept[key] = token
        while len(self._kept) > MAX_TOKENS:
            self._kept.popitem(last=False)


def mint_body(repository_id: int, permissions: Permissions) -> dict[str, Any]:
    """What is asked for. An empty map would mean every permission that the App has, so it is refused here."""
    if not permissions:
        raise ValueError("a token needs an explicit permissions map")
    return {"repository_ids": [repository_id], "permissions": dict(permissions)}


def read_minted(data: Any, repository_id: int, permissions: Permissions) -> FetchToken:
    """Read GitHub's answer, and refuse a token that can do more than was asked for.

    Raises ``GitHubRefused`` then, and ``ValueError`` or a lookup error for an answer of another shape.
    """
    if "repositories" in data and [r["id"] for r in data["repositories"]] != [repository_id]:
        raise GitHubRefused(403, "the token that GitHub made is for other repositories than the one asked for")
    if data.get("repository_selection") == "all":
        raise GitHubRefused(403, "the token that GitHub made is for all repositories")
    allowed = {"metadata": "read"} | dict(permissions)
    broader = {name: level for name, level in data.get("permissions", {}).items() if not _within(name, level, allowed)}
    if broader:
        raise GitHubRefused(403, f"the token that GitHub made can do more than was asked for: {broader}")
    expires_at = datetime.fromisoformat(data["expires_at"].replace("Z", "+00:00"))
    if expires_at.tzinfo is None:
        expires_at = expires_at.replace(tzinfo=UTC)
    return FetchToken(token=SecretStr(data["token"]), expires_at=expires_at)


def _within(name: str, level: str, allowed: Mapping[str, str]) -> bool:
    return level == allowed.get(name) or (level == "read" and name in allowed)


class AppCredential:
    """Authorization as the App itself. Raises ``ValueError`` for a key that cannot be used."""

    def __init__(self, app_id: str, private_key: SecretStr, clock: GitHubClock) -> None:
        self._app_id = app_id
        self._key = load_key(private_key)
        self._clock = clock

    async def __call__(self, refused: str | None) -> str:
        """A new JWT each time: after a refusal for its times, GitHub's clock has been learned meanwhile."""
        return app_jwt(self._app_id, self._key, self._clock.now())


Credential = Callable[[str | None], Awaitable[str]]
"""Gives the secret to authorize a call with; the argument is one that GitHub has just refused."""


def bad_credentials(failure: Failure) -> bool:
    """Whether another token may help."""
    return failure.status == 401
