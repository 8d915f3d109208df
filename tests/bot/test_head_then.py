"""What a branch was at when somebody commented, by what has moved it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.head_then import How, Move, Then, head_then
from tests.github_world import START

A, B, C, NOWHERE = "a" * 40, "b" * 40, "c" * 40, "0" * 40


def move(seconds: int, before: str, after: str) -> Move:
    """So many seconds after the comment."""
    return Move(before=before, after=after, at=START + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("moves", "now", "sha", "how"),
    [
        # nothing has moved it since
        ([move(-60, A, B)], B, B, "now"),
        ([move(-5, A, B), move(-60, NOWHERE, A)], B, B, "now"),
        # one push, several, a forced one
        ([move(9, A, B), move(-60, NOWHERE, A)], B, A, "earlier"),
        ([move(9, B, C), move(3, A, B), move(-60, NOWHERE, A)], C, A, "earlier"),
        ([move(1, A, C), move(-60, B, A)], C, A, "earlier"),
        # away and back again
        ([move(9, B, A), move(3, A, B), move(-60, NOWHERE, A)], A, A, "now"),
        # the list goes on from where our look at the pull request was
        ([move(9, A, B), move(-60, NOWHERE, A)], A, A, "now"),
        # closed, so that its head stays where it was while the branch goes on
        ([move(9, B, C), move(-5, A, B), move(-60, NOWHERE, A)], A, A, "now"),
        # in the very second: later, but for the branch's own beginning
        ([move(0, A, B), move(-60, NOWHERE, A)], B, A, "earlier"),
        ([move(0, NOWHERE, A)], A, A, "now"),
        ([move(0, A, B), move(0, NOWHERE, A)], B, A, "earlier"),
        # deleted after the comment, and made again
        ([move(9, NOWHERE, B), move(5, A, NOWHERE), move(-60, NOWHERE, A)], B, A, "earlier"),
        # deleted before it
        ([move(9, NOWHERE, B), move(-5, A, NOWHERE), move(-60, NOWHERE, A)], B, A, "earlier"),
        ([move(9, NOWHERE, B), move(-60, C, A)], B, A, "earlier"),
        # made after it, and never anything before
        ([move(9, NOWHERE, B)], B, "", "lost"),
        # nothing is known of the head's push
        ([], A, A, "undated"),
        ([move(-60, NOWHERE, A)], B, B, "undated"),
        # a push that is not in the list yet, after one that is
        ([move(3, A, B), move(-60, NOWHERE, A)], C, A, "earlier"),
    ],
)
def test_the_head_at_the_comment(moves: list[Move], now: str, sha: str, how: How) -> None:
    assert head_then(now, START, moves, all_told=True) == Then(sha=sha, how=how)


@pytest.mark.parametrize(("oldest", "how"), [(-1, "earlier"), (0, "lost"), (1, "lost")])
def test_where_the_list_ends_before_the_comment_nothing_is_guessed(oldest: int, how: How) -> None:
    moves = [move(9, A, B), move(oldest, C, A)]
    assert head_then(B, START, moves, all_told=False).how == how
    assert head_then(B, START, moves, all_told=True).how == "earlier"
