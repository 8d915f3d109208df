"""The decision after a failed call, as a table."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.github_retry import (
    ABSENT_AGAIN_SECONDS,
    Failure,
    GiveUp,
    Refused,
    RetryLimits,
    Wait,
    decide,
    http_date,
    may_have_happened,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LIMITS = RetryLimits()
RESET = str(int(NOW.timestamp()) + 40)
ABUSE = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


def decided(
    failure: Failure, *, attempt: int = 1, spent: float = 0.0, jitter: float = 0.0, limits: RetryLimits | None = None
) -> Wait | GiveUp | Refused:
    return decide(failure, attempt=attempt, spent_seconds=spent, now=NOW, jitter=jitter, limits=limits or RetryLimits())


@pytest.mark.parametrize(
    ("status", "headers", "words", "expected"),
    [
        (None, {}, "no answer in time", Wait(0.5, False)),
        (500, {}, "", Wait(0.5, False)),
        (502, {}, "", Wait(0.5, False)),
        (503, {"retry-after": "7"}, "", Wait(7.0, False)),
        (503, {"retry-after": "Sun, 01 Mar 2026 12:00:09 GMT"}, "", Wait(9.0, False)),
        (520, {}, "", Wait(0.5, False)),  # Cloudflare's own, which http.HTTPStatus does not know
        (530, {}, "", Wait(0.5, False)),
        (408, {}, "", Wait(0.5, False)),
        (429, {"retry-after": "60"}, "", Wait(60.0, True)),
        (403, {"retry-after": "60"}, ABUSE, Wait(60.0, True)),
        (403, {"retry-after": "60"}, "", Wait(60.0, True)),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, "", Wait(41.0, True)),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, "", Wait(41.0, True)),
        (403, {"x-ratelimit-remaining": "4999"}, ABUSE, Wait(60.0, True)),
        (403, {}, "You have triggered an abuse detection mechanism.", Wait(60.0, True)),
        (429, {}, "", Wait(60.0, True)),
        (422, {}, "was submitted too quickly", Wait(60.0, True)),
        (403, {"x-ratelimit-remaining": "4999"}, "Resource not accessible by integration", Refused("...")),
        (403, {}, "Unable to create comment because issue is locked.", Refused("...")),
        (301, {}, "Moved Permanently", Refused("...")),
        (400, {}, "Problems parsing JSON", Refused("...")),
        (401, {}, "Bad credentials", Refused("...")),
        (404, {"retry-after": "5"}, "Not Found", Refused("...")),
        (410, {}, "This issue was deleted", Refused("...")),
        (422, {}, "Validation Failed", Refused("...")),
    ],
)
def test_v02_each_kind_of_failure_has_its_answer(
    status: int | None, headers: dict[str, str], words: str, expected: Wait | Refused
) -> None:
    verdict = decided(Failure(status, words, headers))
    if isinstance(expected, Refused):
        assert verdict == Refused(words)
    else:
        assert verdict == expected


def test_v02_absence_that_is_doubted_is_asked_about_once_more() -> None:
    def verdict(status: int, *, attempt: int = 5, spent: float = 0.0) -> Wait | GiveUp | Refused:
        failure = Failure(status, "no")
        return decide(failure, attempt=attempt, spent_seconds=spent, now=NOW, jitter=0.0, limits=LIMITS, doubted=True)

    assert verdict(404) == Wait(ABSENT_AGAIN_SECONDS, limited=False)
    assert verdict(404, spent=LIMITS.total_seconds - 1) == GiveUp("no", ABSENT_AGAIN_SECONDS, limited=False)
    assert verdict(410) == Refused("no")
    assert verdict(503, attempt=1) == Wait(0.5, limited=False)


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "soon"},
        {"retry-after": ""},
        {"retry-after": "-5"},
        {"retry-after": "٦"},  # a digit, but not one that a header can hold
        {"x-ratelimit-remaining": "0"},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "never"},
    ],
)
def test_an_unreadable_limit_header_means_the_advised_minute(headers: dict[str, str]) -> None:
    assert decided(Failure(429, "", headers)) == Wait(60.0, True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0"}, 1.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 1.0),
        ({"retry-after": "9" * 300}, 3600.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}, 1.0),
        # Milliseconds for seconds, as recorded once.
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772366440000"}, 3600.0),
    ],
)
def test_an_absurd_limit_is_bounded(headers: dict[str, str], seconds: float) -> None:
    verdict = decided(Failure(429, "", headers), limits=RetryLimits(total_seconds=1e9))
    assert verdict == Wait(seconds, True)


def test_waits_double_and_end_after_the_last_attempt() -> None:
    verdicts = [decided(Failure(503, "down"), attempt=n, jitter=1.0) for n in range(1, 6)]
    assert verdicts == [
        Wait(1.0, False),
        Wait(2.0, False),
        Wait(4.0, False),
        Wait(8.0, False),
        GiveUp("down", 16.0, False),
    ]


def test_no_wait_goes_past_the_total_and_the_limit_is_handed_on() -> None:
    failure = Failure(403, ABUSE, {"retry-after": "60"})
    assert decided(failure, spent=30.0) == Wait(60.0, True)
    assert decided(failure, spent=30.5) == GiveUp(ABUSE, 60.0, True)


def test_jitter_never_makes_a_rate_limit_shorter() -> None:
    for jitter in (0.0, 0.5, 0.999):
        verdict = decided(Failure(429, "", {"retry-after": "10"}), jitter=jitter)
        assert isinstance(verdict, Wait)
        assert verdict.seconds >= 10.0


@pytest.mark.parametrize(
    ("status", "unsure"),
    [(None, True), (500, True), (502, True), (408, True), (403, False), (429, False), (404, False)],
)
def test_b82_what_may_have_happened_is_looked_for(status: int | None, unsure: bool) -> None:
    assert may_have_happened(Failure(status, "")) is unsure


def test_a_date_without_a_zone_is_taken_as_utc() -> None:
    assert http_date("Sun, 01 Mar 2026 12:00:00 -0000") == NOW
    assert http_date("tomorrow") is None
