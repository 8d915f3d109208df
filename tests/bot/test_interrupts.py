"""Signals of a command: what they do, and when they do nothing."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from bot.interrupts import SIGNALS, interrupts


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Whoever runs the tests may have set some to be ignored (``nohup``, a shell's background job)."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in SIGNALS}
    yield
    for number, meaning in before.items():
        signal.signal(number, meaning)


# A signal to oneself arrives within microseconds; a loop that never hears of it must not hang the tests.
SECONDS = 10


@pytest.mark.parametrize("number", SIGNALS)
async def test_each_signal_acts_and_its_old_meaning_comes_back(number: signal.Signals) -> None:
    before, came = signal.getsignal(number), asyncio.Event()
    with interrupts(came.set):
        os.kill(os.getpid(), number)
        await asyncio.wait_for(came.wait(), SECONDS)
    assert signal.getsignal(number) == before


async def test_what_is_done_changes_for_a_while() -> None:
    first, second = asyncio.Event(), asyncio.Event()
    with interrupts(first.set) as holder:
        with holder.doing(second.set):
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(second.wait(), SECONDS)
        assert not first.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(first.wait(), SECONDS)


async def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """``nohup gofer run``: the terminal may close."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    came = asyncio.Event()
    try:
        with interrupts(came.set):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(came.wait(), SECONDS)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
