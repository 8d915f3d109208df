"""One call to GitHub from start to end: authorize, send, read, and go by what ``github_retry`` decides."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import aiohttp
from gidgethub import GitHubException, sansio

from bot import github_urls as urls
from bot.github_auth import Credential, GitHubClock, bad_credentials
from bot.github_http import Answer, NoAnswer, exchange
from bot.github_pace import Pace, Sleep
from bot.github_retry import ABSENT, Failure, GiveUp, Refused, RetryLimits, decide, may_have_happened
from bot.github_values import GitHubRefused, GitHubUnavailable

_log = logging.getLogger(__name__)

USER_AGENT = "gofer"
ACCEPT = "application/vnd.github+json"
# Pinned: without it GitHub picks the newest, and answers may change under us.
API_VERSION = "2022-11-28"
# Renamed twice is already rare.
MAX_REDIRECTS = 3
# GitHub's words go into errors and logs: a proxy's HTML page must not.
MAX_WORDS = 300

Look = Callable[[], Awaitable[Any]]
"""Asks GitHub whether a call has taken effect before: its result, or None."""


@dataclass(frozen=True)
class Call:
    """What to ask. ``repository_id`` names the only repository that a redirect may lead to."""

    method: str
    path: str
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    repository_id: int | None = None
    paged: bool = False
    """The result is a ``Page``."""
    accept: str = ACCEPT
    absent_is_usual: bool = False
    """A 404 is believed at once, as nothing bad comes of a wrong one. Any other is believed when it is said twice."""
    absent: Callable[[Any], str | None] | None = None
    """Reads a 404 in an answer that came with another status: GitHub's words for it."""


@dataclass(frozen=True)
class Page:
    """One page of a list, and the URL of the next one as GitHub wrote it."""

    items: Any
    more: str | None


class Calls:
    """Performs calls. Holds no state but the session; safe for many at once."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        api_url: str,
        *,
        clock: GitHubClock,
        sleep: Sleep,
        random: Callable[[], float],
        limits: RetryLimits,
        timeout: aiohttp.ClientTimeout,
    ) -> None:
        self._session = session
        self._api_url = api_url.rstrip("/")
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._limits = limits
        self._timeout = timeout

    async def perform(self, call: Call, credential: Credential, pace: Pace, look: Look | None = None) -> Any:
        """The decoded answer (None where it is empty). Raises ``GitHubUnavailable`` or ``GitHubRefused``.

        With ``look``, a call that may have taken effect in spite of its failure is not repeated before ``look`` has
        found nothing; what it finds is the result.
        """
        doubted = not call.absent_is_usual
        started = self._clock.now()
        refused: tuple[str, Failure] | None = None
        for attempt in itertools.count(1):
            await self._stand_back(pace, started)
            secret = await credential(refused[0] if refused else None)
            if refused is not None and secret == refused[0]:  # there is no other to try
                raise GitHubRefused(401, refused[1].words)
            outcome = await self._once(call, secret)
            if not isinstance(outcome, Failure):
                return Page(outcome.value, outcome.more) if call.paged else outcome.value
            if bad_credentials(outcome) and refused is None:
                refused = (secret, outcome)
                continue
            await self._wait_or_raise(outcome, attempt, started, pace, doubted)
            doubted = doubted and outcome.status != ABSENT
            if look is not None and may_have_happened(outcome) and (found := await look()) is not None:
                return found
        raise AssertionError("unreachable")

    async def _stand_back(self, pace: Pace, started: datetime) -> None:
        """While the installation is limited, wait if the budget allows, and do not even ask if it does not."""
        blocked = pace.blocked_seconds(self._clock.now())
        if blocked and self._spent(started) + blocked > self._limits.total_seconds:
            raise GitHubUnavailable("GitHub's rate limit for this installation is reached", blocked)
        if blocked:
            await self._sleep(blocked)

    async def _wait_or_raise(
        self, failure: Failure, attempt: int, started: datetime, pace: Pace, doubted: bool
    ) -> None:
        verdict = decide(
            failure,
            attempt=attempt,
            spent_seconds=self._spent(started),
            now=self._clock.now(),
            jitter=self._random(),
            limits=self._limits,
            doubted=doubted,
        )
        if isinstance(verdict, Refused):
            raise GitHubRefused(failure.status or 0, verdict.words)
        what = f"{failure.status or 'no answer'}: {failure.words}"
        then = "given up for now" if isinstance(verdict, GiveUp) else f"again in {verdict.seconds:.1f} s"
        _log.warning("call %d to GitHub failed (%s); %s", attempt, what, then)
        if verdict.limited:
            pace.block(self._clock.now(), verdict.seconds)
        if isinstance(verdict, GiveUp):
            raise GitHubUnavailable(f"{failure.status or 'no answer'}: {verdict.words}", verdict.seconds)
        if not verdict.limited:  # a limit is waited out in _stand_back, where others of the installation wait too
            await self._sleep(verdict.seconds)

    async def _once(self, call: Call, secret: str) -> Success | Failure:
        path = call.path + (f"?{urlencode(call.query)}" if call.query else "")
        for _ in range(MAX_REDIRECTS):
            try:
                answer = await exchange(
                    self._session,
                    call.method,
                    urls.base_for(self._api_url, call.path) + path,
                    headers(secret, call.accept),
                    encode(call.body),
                    self._timeout,
                )
            except NoAnswer as error:
                return Failure(None, str(error))
            self._clock.learn(answer.headers)
            follow = self._follow(call, answer)
            if follow is None:
                return read(answer, call.absent)
            path = follow
        return Failure(310, "too many redirects")

    def _follow(self, call: Call, answer: Answer) -> str | None:
        """The path of a redirect to follow. Writes follow only those that keep method and body (307, 308)."""
        keeps = {307, 308} if call.method != "GET" else {301, 302, 307, 308}
        if answer.status not in keeps or call.repository_id is None:
            return None
        return urls.redirected(self._api_url, answer.headers.get("location", ""), call.repository_id)

    def _spent(self, started: datetime) -> float:
        return (self._clock.now() - started).total_seconds()


@dataclass(frozen=True)
class Success:
    """A 2xx answer, decoded. ``more`` is the next page's URL as GitHub wrote it: not to be called as it is."""

    value: Any
    more: str | None = None


def headers(secret: str, accept: str = ACCEPT) -> dict[str, str]:
    """GitHub takes ``bearer`` for JWTs and installation tokens alike."""
    return sansio.create_headers(USER_AGENT, accept=accept, jwt=secret) | {
        "x-github-api-version": API_VERSION,
        "content-type": "application/json; charset=utf-8",
    }


def encode(body: Mapping[str, Any] | None) -> bytes | None:
    """JSON; lone surrogates, which UTF-8 has no bytes for, travel as the escapes they came from."""
    return None if body is None else json.dumps(body).encode("ascii")


def read(answer: Answer, absent: Callable[[Any], str | None] | None = None) -> Success | Failure:
    """Decode with gidgethub, which raises for anything but 200, 201, 202 and 204 - and raises much else besides.

    A 2xx that cannot be read is no answer. An error page of a proxy (HTML, odd status) is an error with short words.
    """
    try:
        value, _, more = sansio.decipher_response(answer.status, answer.headers, answer.body)
    except GitHubException as error:
        return Failure(answer.status, short(str(error)), answer.headers)
    except (ValueError, LookupError, TypeError, AttributeError):
        # Broken JSON, a body that is no text, an unknown charset, a status that Python has no name for (520 to 530).
        status = None if 200 <= answer.status < 300 else answer.status
        return Failure(status, "an answer that could not be read", answer.headers)
    words = absent(value) if absent else None
    return Success(value, more) if words is None else Failure(ABSENT, words, answer.headers)


def short(words: str) -> str:
    """One line of bounded length."""
    line = " ".join(words.split())
    return line if len(line) <= MAX_WORDS else line[:MAX_WORDS] + "…"
