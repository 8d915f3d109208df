"""Which commit a pull request's branch was at when somebody commented: decided by what has moved it since. Pure.

The webhook of a comment in the conversation does not say. Between it and our look at the pull request somebody may
have pushed, and what nobody had seen is not worked on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from bot.tasks import Frozen

_NOWHERE = frozenset({"", "0" * 40})
"""GitHub's word for a branch that is not."""


class Move(Frozen):
    """That a branch went from one commit to another. ``at`` is in whole seconds, as all of GitHub's times."""

    before: str
    after: str
    at: datetime


How = Literal["now", "earlier", "undated", "lost"]


class Then(Frozen):
    """``sha`` is what to work on; empty where ``lost``."""

    sha: str
    how: How
    """``now``: it has not moved since. ``earlier``: it has, and this is what it was at. ``undated``: GitHub does not
    say since when the head is the head; it is the one of now. ``lost``: it has moved, and from where is not known."""


def head_then(now: str, asked: datetime, moves: Sequence[Move], *, all_told: bool) -> Then:
    """``now`` is the head as GitHub has just said, ``moves`` are its branch's, newest first; ``all_told``: there are no
    older ones.

    A move in the very second of the comment counts as later: which was first, times in whole seconds do not say, and
    an older head than was meant costs a branch of its own, a newer one the promise. Only that the branch was *made* in
    that second, out of nothing, is earlier for certain: the comment is on its pull request.
    """
    later = [move for move in moves if move.at >= asked]
    if not later:
        # a push that is not in the list yet may have come before the comment or after it
        return Then(sha=now, how="now" if any(move.after == now for move in moves) else "undated")
    if not any(move.after == now for move in later) and any(move.after == now for move in moves):
        return Then(sha=now, how="now")  # it is closed, or its head was read before the push
    if len(later) == len(moves) and not all_told:
        return Then(sha="", how="lost")
    sha = _before(moves[len(later) - 1 :], asked)
    if not sha:
        return Then(sha="", how="lost")
    return Then(sha=sha, how="now" if sha == now else "earlier")


def _before(moves: Sequence[Move], asked: datetime) -> str:
    """The commit before the first of these, newest first. A branch that was deleted and is there again: the one that it
    had before that."""
    first, older = moves[0], moves[1:]
    if first.before not in _NOWHERE:
        return first.before
    for move in older:
        found = move.before if move.after in _NOWHERE else move.after
        if found not in _NOWHERE:
            return found
    return first.after if not older and first.at == asked else ""
