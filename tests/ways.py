"""The two ways in which a journey reaches its sandboxes: in the bot's own process, or through a runner's API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

LOCAL = "local"
RUNNER = "runner"

_way = [LOCAL]


def through_a_runner() -> bool:
    """Whether the running test goes through a runner's API."""
    return _way[-1] == RUNNER


@contextmanager
def going(way: str) -> Iterator[None]:
    """One test's way."""
    _way.append(way)
    try:
        yield
    finally:
        _way.pop()
