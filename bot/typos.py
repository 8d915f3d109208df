"""Whether a word was probably meant to be another one. Pure."""

from __future__ import annotations

from collections.abc import Iterable

MAX_TYPO = 2
"""Letters to add, drop, change or swap with a neighbour; for words of four letters and fewer, one."""


def is_typo(said: str, verb: str) -> bool:
    """A few letters away; a word of two letters is never taken for another."""
    allowed = MAX_TYPO if len(verb) > 4 else 1
    return len(said) > 2 and abs(len(said) - len(verb)) <= allowed and distance(said, verb) <= allowed


def distance(one: str, other: str) -> int:
    """Edits between two short words; swapping neighbours counts as one (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def nearest(said: str, known: Iterable[str]) -> str:
    """The known word that is the fewest edits away; of several, the first. ``known`` has at least one."""
    return min(known, key=lambda word: distance(said[:MAX_WORD_CHARS], word))


MAX_WORD_CHARS = 40
"""Longer words are near to nothing, and comparing them costs time."""
