"""Room for request bodies that are kept whole until they have been judged: bounded for each and for all. Pure."""

from __future__ import annotations

# Two of the largest, or hundreds of usual ones. The egress has 512 MiB, and a body is there twice while it is judged.
MAX_TOGETHER_BYTES = 64 * 2**20


class TooLong(Exception):
    """A request body above a bound. ``str()`` is a sentence for the client."""


class Pool:
    """What all bodies of one sandbox take together."""

    def __init__(self, most: int = MAX_TOGETHER_BYTES) -> None:
        self._most = self._left = most

    def take(self, count: int) -> None:
        """Raises ``TooLong``; nothing is taken then."""
        if count > self._left:
            raise TooLong(f"all bodies that are under way may have {self._most} bytes together at most")
        self._left -= count

    def give(self, count: int) -> None:
        self._left += count


class Share:
    """One body's part of it. ``release`` may be called again; nothing is counted after it."""

    def __init__(self, pool: Pool, most: int) -> None:
        self._pool, self._most = pool, most
        self._taken = 0
        self._over = False

    def count(self, count: int) -> None:
        """Once for each piece as it comes. Raises ``TooLong`` in words for the one that is too much."""
        if self._over:
            return
        if self._taken + count > self._most:
            raise TooLong(f"a body may have {self._most} bytes at most")
        self._pool.take(count)
        self._taken += count

    def release(self) -> None:
        if not self._over:
            self._over = True
            self._pool.give(self._taken)
