"""Time that stands until it is moved, and nobody has to wait for."""

from __future__ import annotations


class Clock:
    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time
