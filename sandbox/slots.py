"""How many may do something heavy at once; the others wait in the order of asking, and their time does not run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slot:
    """One that is held. ``leave`` may be called early, and again."""

    def __init__(self, among: asyncio.Semaphore) -> None:
        self._among: asyncio.Semaphore | None = among

    def leave(self) -> None:
        """Let the next one go on."""
        if self._among is not None:
            self._among.release()
            self._among = None


class Slots:
    """``count`` at once, in one event loop."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Slot]:
        """Wait for a slot, and hold it until it is left or the block ends."""
        await self._free.acquire()
        slot = Slot(self._free)
        try:
            yield slot
        finally:
            slot.leave()
