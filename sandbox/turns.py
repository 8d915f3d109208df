"""One after the other for each name, at the same time for different ones."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """Locks by name in one event loop, kept only while somebody holds or awaits one. Not re-entrant."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._callers: Counter[str] = Counter()

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Wait for whoever is at it, in the order of asking, then hold the name until the block ends."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        self._callers[name] += 1
        try:
            async with lock:
                yield
        finally:
            self._callers[name] -= 1
            if not self._callers[name]:
                del self._callers[name], self._locks[name]
