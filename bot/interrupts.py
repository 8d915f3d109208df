"""What a signal does to a command that has something to tidy up: Ctrl-C, a polite kill, a terminal that closes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Calls ``act`` in the loop at each signal; what it is may change. Made by `interrupts`."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def __call__(self) -> None:
        self._act()

    @contextmanager
    def doing(self, act: Callable[[], object]) -> Iterator[None]:
        """Something else while the block runs."""
        before, self._act = self._act, act
        try:
            yield
        finally:
            self._act = before


@contextmanager
def interrupts(act: Callable[[], object]) -> Iterator[Interrupts]:
    """For the main thread. A signal that whoever started us has set to be ignored (``nohup``) stays ignored."""
    loop, holder = asyncio.get_running_loop(), Interrupts(act)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    ours = [number for number in SIGNALS if before[number] is not signal.SIG_IGN]
    for number in ours:
        loop.add_signal_handler(number, holder)
    try:
        yield holder
    finally:
        for number in ours:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
