"""State that a test may change at any time: things, not values."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.demo.github_state import User
from bot.demo.github_work_state import Pull, Review

AT = datetime(2026, 3, 1, tzinfo=UTC)


def test_two_reviews_with_the_same_words_are_two() -> None:
    one, other = (Review(1, User(2, "alice"), "COMMENTED", "x", "a" * 40, AT) for _ in range(2))
    pull = Pull("topic", None, "main", "a" * 40, "b" * 40, reviews=[one])
    assert one in pull.reviews
    assert other not in pull.reviews
