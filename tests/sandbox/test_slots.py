"""Slots: never more than so many, nobody is passed over, and none is lost."""

from __future__ import annotations

import asyncio

import pytest

from sandbox.background import spawn
from sandbox.slots import Slots


async def test_never_more_than_so_many_and_in_the_order_of_asking() -> None:
    slots, inside, most = Slots(2), [], 0
    order: list[int] = []

    async def work(number: int) -> None:
        nonlocal most
        async with slots.one():
            inside.append(number)
            order.append(number)
            most = max(most, len(inside))
            for _ in range(3):
                await asyncio.sleep(0)
            inside.remove(number)

    await asyncio.gather(*(work(number) for number in range(6)))
    assert (most, order) == (2, [0, 1, 2, 3, 4, 5])


async def test_who_leaves_early_lets_one_go_on_and_no_more() -> None:
    slots, gate = Slots(1), asyncio.Event()
    entered: list[str] = []

    async def long() -> None:
        async with slots.one() as slot:
            slot.leave()
            slot.leave()
            await gate.wait()

    async def holding(name: str) -> None:
        async with slots.one():
            entered.append(name)
            await gate.wait()

    tasks = [spawn(work, name="work") for work in (long(), holding("a"), holding("b"))]
    for _ in range(10):
        await asyncio.sleep(0)
    assert entered == ["a"]
    gate.set()
    await asyncio.gather(*tasks)
    assert entered == ["a", "b"]


async def test_who_fails_or_gives_up_waiting_takes_no_slot_along() -> None:
    slots = Slots(1)
    with pytest.raises(ValueError, match="broken"):
        async with slots.one():
            raise ValueError("broken")

    async def wait() -> None:
        async with slots.one():
            raise AssertionError("nobody left")

    async with slots.one():
        waiting = spawn(wait(), name="waiting")
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(5), slots.one():
        pass
