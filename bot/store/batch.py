"""Group commit: many inserts that come at once share one transaction, and so one wait for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from sandbox import spawn

Item = TypeVar("Item")
Answer = TypeVar("Answer")

# Items in one transaction: it bounds how long the first of them waits for the last.
BATCH = 64
# Turns of the event loop without a new item after which a batch is closed. A request takes a few turns from its
# first byte to its insert.
QUIET_TURNS = 4
# Items that may wait. GitHub is told to come back later (503) rather than kept waiting in ever longer a line.
WAITING = 2_000


class Full(Exception):
    """More is waiting than can be written soon. Try again later."""


class Batcher(Generic[Item, Answer]):
    """Hand items to ``write`` in batches. While one batch is written, the next one gathers by itself: no timer."""

    def __init__(self, write: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]]) -> None:
        self._write = write
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._draining: asyncio.Task[None] | None = None

    async def add(self, item: Item) -> Answer:
        """The answer for ``item``, after its transaction has ended; what ``write`` raised, if it did.

        A caller that is cancelled while it waits does not stop the write.
        """
        if len(self._waiting) >= WAITING:
            raise Full
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._draining is None:
            self._draining = spawn(self._drain(), name="store-batch")
        return await future

    async def close(self) -> None:
        """Wait for what was added."""
        if self._draining is not None:
            await asyncio.wait([self._draining])

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await self._gather()
                batch = self._waiting[:BATCH]
                del self._waiting[:BATCH]
                await self._write_batch(batch)
        finally:
            self._draining = None

    async def _gather(self) -> None:
        """Let what has arrived at the server already come into the same transaction: until a few turns of the loop
        bring nothing more, or the batch is full. For one alone these turns are some microseconds."""
        quiet = 0
        while quiet < QUIET_TURNS and len(self._waiting) < BATCH:
            before = len(self._waiting)
            await asyncio.sleep(0)
            quiet = 0 if len(self._waiting) > before else quiet + 1

    async def _write_batch(self, batch: Sequence[tuple[Item, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._write([item for item, _ in batch])
        except Exception as error:
            if len(batch) > 1:  # one bad item must not fail its neighbours
                for one in batch:
                    await self._write_batch([one])
                return
            _settle(batch[0][1], error=error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            _settle(future, answer=answer)


def _settle(future: asyncio.Future[Answer], *, answer: Answer | None = None, error: Exception | None = None) -> None:
    if future.done():  # its caller went away
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(answer)  # type: ignore[arg-type]
