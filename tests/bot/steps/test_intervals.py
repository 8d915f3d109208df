from __future__ import annotations

from bot.steps.intervals import past


def test_an_interval_ends_when_it_is_over_and_when_the_clock_was_put_back() -> None:
    assert [past(now, 100.0, 15.0) for now in (100.0, 114.9, 115.0, 1e9, 99.9, 0.0)] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]
