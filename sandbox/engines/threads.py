"""A pool of daemon threads for calls that may hang.

Unlike ``concurrent.futures``, the interpreter does not wait for these at exit: a hung engine must not keep the bot
from ending within its five seconds.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_Work = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class Threads:
    """``size`` threads called ``name-0``, ``name-1``, ..., started at once."""

    def __init__(self, name: str, size: int) -> None:
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._size = size
        for number in range(size):
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True).start()

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` in one of the threads. Cancelling the caller does not stop work that has begun."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put((loop, future, work))
        return await future

    def close(self) -> None:
        """Let the threads end when their present work is done; does not wait. May be called twice."""
        for _ in range(self._size):
            self._queue.put(None)

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            loop, future, work = item
            if future.cancelled():
                continue
            try:
                self._settle(loop, future, work(), None)
            except BaseException as error:  # the caller gets it, whatever it is
                self._settle(loop, future, None, error)

    @staticmethod
    def _settle(
        loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], value: Any, error: BaseException | None
    ) -> None:
        def settle() -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)

        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop was closed while the work ran: nobody is left to tell
            return
