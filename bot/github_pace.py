"""One writer at a time for each installation, not too often, and none at all while GitHub has asked us to wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

# GitHub asks for a second between requests that write, and limits content to 80 a minute. A task's own few writes
# come close together and then not for long, so a small burst is let through and the average kept.
WRITE_SPACING_SECONDS = 1.0
WRITE_BURST = 4

Sleep = Callable[[float], Awaitable[None]]


def slot(now: float, next_free: float, spacing: float, burst: int) -> tuple[float, float]:
    """Seconds to wait for a write that is ready at ``now``, and the next value of ``next_free``.

    ``next_free`` is where evenly spaced writes have got to; it may run ahead of ``now`` by ``burst - 1`` spacings.
    """
    wait = max(0.0, next_free - (burst - 1) * spacing - now)
    return wait, max(next_free, now) + spacing


class Pace:
    """The pace of one installation. Reads ask ``blocked_seconds`` only; writes hold ``writing`` for their length."""

    def __init__(self, *, spacing_seconds: float, sleep: Sleep) -> None:
        self._spacing = spacing_seconds
        self._sleep = sleep
        self._writer = asyncio.Lock()
        self._next_free = 0.0
        self._blocked_at: datetime | None = None
        self._blocked_for = timedelta()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Wait for the turn and for the slot. A look before a post belongs inside, so that two posts cannot cross."""
        async with self._writer:
            now = asyncio.get_running_loop().time()
            wait, self._next_free = slot(now, self._next_free, self._spacing, WRITE_BURST)
            if wait > 0:
                await self._sleep(wait)
            yield

    def block(self, now: datetime, seconds: float) -> None:
        """GitHub has named a rate limit: nobody of this installation calls before it is over."""
        longer = max(seconds, self.blocked_seconds(now))
        self._blocked_at, self._blocked_for = now, timedelta(seconds=longer)

    def blocked_seconds(self, now: datetime) -> float:
        """How long a rate limit of this installation lasts yet; 0 when there is none."""
        if self._blocked_at is None:
            return 0.0
        # Never before it began: the clock was put back, and the limit shall not last for as long as that.
        self._blocked_at = min(self._blocked_at, now)
        return max(0.0, (self._blocked_at + self._blocked_for - now).total_seconds())
