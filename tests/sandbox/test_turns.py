"""Turns by name: one after the other, nobody waits for another name, and nothing is kept."""

from __future__ import annotations

import asyncio

import pytest

from sandbox.background import spawn
from sandbox.turns import Turns


async def test_callers_of_one_name_take_turns_and_of_another_do_not_wait() -> None:
    turns, said = Turns(), []
    gate = asyncio.Event()

    async def work(name: str, what: str) -> None:
        async with turns.of(name):
            said.append(f"{what} begins")
            if what == "first":
                await gate.wait()
            said.append(f"{what} ends")

    first, second = spawn(work("a", "first"), name="first"), spawn(work("a", "second"), name="second")
    await work("b", "other")
    gate.set()
    await asyncio.gather(first, second)
    order = ["first begins", "other begins", "other ends", "first ends", "second begins", "second ends"]
    assert sorted(said) == sorted(order)
    assert said.index("first ends") < said.index("second begins")
    assert vars(turns) == {"_locks": {}, "_callers": {}}


async def test_one_who_fails_or_is_cancelled_lets_the_next_one_go_on() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="broken"):
        async with turns.of("a"):
            raise ValueError("broken")

    async def hold() -> None:
        async with turns.of("a"):
            await asyncio.Event().wait()

    held, waiting = spawn(hold(), name="held"), spawn(hold(), name="waiting")
    await asyncio.sleep(0)
    waiting.cancel()
    held.cancel()
    await asyncio.gather(held, waiting, return_exceptions=True)
    async with asyncio.timeout(5), turns.of("a"):
        pass
    assert vars(turns) == {"_locks": {}, "_callers": {}}
