from __future__ import annotations

import pytest

from bot.typos import distance, is_typo, nearest


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("", "", 0), ("pr", "pr", 0), ("pr", "prs", 1), ("hepl", "help", 1), ("statsu", "status", 1), ("abc", "xyz", 3)],
)
def test_edits_are_counted_and_a_swap_is_one(one: str, other: str, edits: int) -> None:
    assert distance(one, other) == distance(other, one) == edits


@pytest.mark.parametrize(
    ("said", "verb", "typo"),
    [("hepl", "help", True), ("cancle", "cancel", True), ("ok", "pr", False), ("tests", "status", False)],
)
def test_a_short_word_must_be_closer_than_a_long_one(said: str, verb: str, typo: bool) -> None:
    assert is_typo(said, verb) is typo


def test_the_nearest_of_several() -> None:
    assert nearest("modle", ["agent", "model", "base"]) == "model"
    assert nearest("x" * 100_000, ["a", "b"]) == "a"
