"""One writer at a time, spaced."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from bot.github_pace import Pace, slot
from sandbox import spawn

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_b80_a_burst_passes_and_the_average_is_kept() -> None:
    waits, next_free = [], 0.0
    for _ in range(8):  # all ready at second 100
        wait, next_free = slot(100.0, next_free, spacing=1.0, burst=4)
        waits.append(wait)
    assert waits == [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]


def test_after_a_rest_the_burst_is_whole_again_but_no_larger() -> None:
    _, next_free = slot(100.0, 0.0, spacing=1.0, burst=2)
    waits = []
    for _ in range(3):
        wait, next_free = slot(200.0, next_free, spacing=1.0, burst=2)
        waits.append(wait)
    assert waits == [0.0, 0.0, 1.0]


async def test_b80_two_writers_never_overlap() -> None:
    pace = Pace(spacing_seconds=0.0, sleep=asyncio.sleep)
    inside = 0
    seen = []

    async def write() -> None:
        nonlocal inside
        async with pace.writing():
            inside += 1
            seen.append(inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(spawn(write(), name=f"writer-{n}") for n in range(20)))
    assert seen == [1] * 20


async def test_a_writer_that_fails_lets_the_next_one_in() -> None:
    pace = Pace(spacing_seconds=0.0, sleep=asyncio.sleep)
    try:
        async with pace.writing():
            raise RuntimeError("broken")
    except RuntimeError:
        pass
    async with asyncio.timeout(5), pace.writing():
        pass


def test_a_shorter_limit_does_not_end_a_longer_one() -> None:
    pace = Pace(spacing_seconds=0.0, sleep=asyncio.sleep)
    pace.block(NOW, 60.0)
    pace.block(NOW, 5.0)
    assert pace.blocked_seconds(NOW + timedelta(seconds=20)) == 40.0
    assert pace.blocked_seconds(NOW + timedelta(seconds=60)) == 0.0


def test_a_limit_does_not_last_longer_because_the_clock_was_put_back() -> None:
    pace = Pace(spacing_seconds=0.0, sleep=asyncio.sleep)
    pace.block(NOW, 60.0)
    yesterday = NOW - timedelta(days=1)
    assert pace.blocked_seconds(yesterday) == 60.0
    assert pace.blocked_seconds(yesterday + timedelta(seconds=60)) == 0.0
