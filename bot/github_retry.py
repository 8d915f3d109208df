"""What to do after a failed call to GitHub: wait, come back later, or take no for an answer. Pure.

https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# One second first, doubled each time: five attempts end within about 15 s. A longer outage is the runner's to sit out.
FIRST_WAIT_SECONDS = 1.0
# What GitHub asks for where a secondary limit names no time: "at least one minute", longer after each repeat.
SECONDARY_WAIT_SECONDS = 60.0
# A reset is never more than an hour off; anything beyond is a broken header (seen: milliseconds for seconds).
LONGEST_WAIT_SECONDS = 3600.0
SHORTEST_LIMIT_WAIT_SECONDS = 1.0
# Until what GitHub calls not there is asked for again: its replicas are behind its writes, and a new token may be
# unknown to some of its servers, for about a second.
ABSENT_AGAIN_SECONDS = 2.0
ABSENT = 404
# GitHub's words for a secondary limit. Its status is 403, as for a missing permission, so only words tell them apart
# where the retry-after header is missing.
SECONDARY_WORDS = ("secondary rate limit", "abuse detection", "submitted too quickly")


@dataclass(frozen=True)
class RetryLimits:
    """How long one call may try. ``total_seconds`` includes the waits: long enough for a ``retry-after: 60``."""

    attempts: int = 5
    total_seconds: float = 90.0


@dataclass(frozen=True)
class Failure:
    """A call that did not succeed. ``status`` None: no whole answer came (timeout, connection, broken body)."""

    status: int | None
    words: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""


@dataclass(frozen=True)
class Wait:
    """Wait, then call again. ``limited``: because of a rate limit, which holds for the whole installation."""

    seconds: float
    limited: bool


@dataclass(frozen=True)
class GiveUp:
    """Not now; ``seconds`` is when it may be worth asking again."""

    words: str
    seconds: float
    limited: bool


@dataclass(frozen=True)
class Refused:
    """The answer is no, and stays no."""

    words: str


def may_have_happened(failure: Failure) -> bool:
    """Whether the call may have taken effect all the same (a 502 after storing): look before repeating it."""
    return failure.status is None or failure.status >= 500 or failure.status == 408


def decide(
    failure: Failure,
    *,
    attempt: int,
    spent_seconds: float,
    now: datetime,
    jitter: float,
    limits: RetryLimits,
    doubted: bool = False,
) -> Wait | GiveUp | Refused:
    """Decide after ``attempt`` (from 1) has failed and ``spent_seconds`` are gone.

    ``now`` is GitHub's time as far as known; ``jitter`` is random in [0, 1) and spreads callers that failed together.
    ``doubted``: that something is not there is not believed yet; it is asked about once more whatever the attempts.
    """
    if doubted and failure.status == ABSENT:
        if spent_seconds + ABSENT_AGAIN_SECONDS > limits.total_seconds:
            return GiveUp(failure.words, ABSENT_AGAIN_SECONDS, limited=False)
        return Wait(ABSENT_AGAIN_SECONDS, limited=False)
    limited = is_rate_limit(failure)
    if limited:
        # Never earlier than asked for: "continuing while limited may get the integration banned".
        seconds = limit_seconds(failure, attempt, now) + jitter
    elif may_have_happened(failure):
        seconds = failure_seconds(failure, attempt, now, jitter)
    else:
        return Refused(failure.words)
    if attempt >= limits.attempts or spent_seconds + seconds > limits.total_seconds:
        return GiveUp(failure.words, seconds, limited)
    return Wait(seconds, limited)


def is_rate_limit(failure: Failure) -> bool:
    """Primary or secondary limit, as opposed to a 403 that means a missing permission."""
    if failure.status == 429:
        return True
    if failure.status not in {403, 422}:
        return False
    if any(words in failure.words.lower() for words in SECONDARY_WORDS):
        return True
    exhausted = failure.headers.get("x-ratelimit-remaining") == "0"
    return failure.status == 403 and (exhausted or "retry-after" in failure.headers)


def limit_seconds(failure: Failure, attempt: int, now: datetime) -> float:
    """How long a rate limit lasts: retry-after first, then the reset of an exhausted quota, then GitHub's advice."""
    seconds = retry_after_seconds(failure.headers, now)
    if seconds is None and failure.headers.get("x-ratelimit-remaining") == "0":
        seconds = reset_seconds(failure.headers, now)
    if seconds is None:
        seconds = SECONDARY_WAIT_SECONDS * 2.0 ** (attempt - 1)
    return min(max(seconds, SHORTEST_LIMIT_WAIT_SECONDS), LONGEST_WAIT_SECONDS)


def failure_seconds(failure: Failure, attempt: int, now: datetime, jitter: float) -> float:
    """Exponential with half of it random; a server that names a time gets at least that."""
    seconds = FIRST_WAIT_SECONDS * 2.0 ** (attempt - 1) * (0.5 + jitter / 2)
    return min(max(seconds, retry_after_seconds(failure.headers, now) or 0.0), LONGEST_WAIT_SECONDS)


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """The header in either of its two forms, seconds or an HTTP date; None where it is missing or unreadable."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isdecimal() and text.isascii():
        return float(text[:10])
    moment = http_date(text)
    return None if moment is None else (moment - now).total_seconds()


def reset_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Until the quota is full again, a second on top because the header has whole seconds."""
    text = headers.get("x-ratelimit-reset", "").strip()
    if not (text.isdecimal() and text.isascii()):
        return None
    return float(text[:15]) - now.timestamp() + 1.0


def http_date(text: str) -> datetime | None:
    """An HTTP date as an aware moment; None where it is none."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
