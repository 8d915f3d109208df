"""How many tasks there may be in an hour: of one person, of one repository, and of all. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WINDOW = 3600.0
"""Seconds over which tasks are counted."""


@dataclass(frozen=True)
class Allowance:
    """Tasks an hour."""

    person: int = 20
    repository: int = 60
    everybody: int = 200


def wait(ages: Sequence[float], most: int) -> float:
    """Seconds until one more may be; 0 where it may now. ``ages`` in seconds of those within the window."""
    recent = sorted((age for age in ages if 0 <= age < WINDOW), reverse=True)
    if len(recent) < most:
        return 0.0
    return WINDOW - recent[len(recent) - most]
