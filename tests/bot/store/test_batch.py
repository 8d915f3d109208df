"""Group commit: who shares a transaction, and who is told what."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bot.store import batch
from bot.store.batch import Batcher, Full


class Disk:
    """Writes numbers; a negative one fails the whole batch that it is in. Each write waits for ``gate``."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = asyncio.Event()

    async def write(self, items: Sequence[int]) -> list[str]:
        self.begun.set()
        await self.gate.wait()
        if any(item < 0 for item in items):
            raise OSError("bad item")
        self.batches.append(list(items))
        return [str(item) for item in items]


async def test_what_comes_during_a_write_shares_the_next_one() -> None:
    disk = Disk()
    batcher = Batcher(disk.write)
    disk.gate.clear()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(batcher.add(1))
        await disk.begun.wait()
        rest = [group.create_task(batcher.add(n)) for n in (2, 3, 4)]
        await asyncio.wait(rest, timeout=0.01)
        assert not first.done()
        disk.gate.set()
    assert disk.batches == [[1], [2, 3, 4]]
    assert [task.result() for task in rest] == ["2", "3", "4"]


async def test_bad_item_fails_alone() -> None:
    disk = Disk()
    batcher = Batcher(disk.write)
    answers = await asyncio.gather(*(batcher.add(n) for n in (1, -1, 2)), return_exceptions=True)
    assert answers[0] == "1"
    assert isinstance(answers[1], OSError)
    assert answers[2] == "2"


async def test_caller_that_went_away_stops_nobody() -> None:
    disk = Disk()
    batcher = Batcher(disk.write)
    disk.gate.clear()
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(batcher.add(1))
        await disk.begun.wait()
        kept = group.create_task(batcher.add(2))
        gone.cancel()
        await asyncio.wait([gone])
        disk.gate.set()
    assert kept.result() == "2"
    assert disk.batches == [[1], [2]]


async def test_close_waits_for_what_was_added() -> None:
    disk = Disk()
    batcher = Batcher(disk.write)
    adding = asyncio.gather(*(batcher.add(n) for n in range(3 * batch.BATCH)))
    await asyncio.wait([adding], timeout=0)
    await batcher.close()
    assert sum(len(items) for items in disk.batches) == 3 * batch.BATCH
    assert max(len(items) for items in disk.batches) <= batch.BATCH
    await adding


async def test_v01_flood_is_refused_rather_than_kept_in_memory() -> None:
    disk = Disk()
    batcher = Batcher(disk.write)
    disk.gate.clear()
    waiting = asyncio.gather(*(batcher.add(n) for n in range(batch.WAITING)))
    await asyncio.wait([waiting], timeout=0)
    await disk.begun.wait()
    over = [batcher.add(n) for n in range(batch.BATCH + 1)]
    taken = asyncio.gather(*over[: batch.BATCH])
    await asyncio.wait([taken], timeout=0)
    with pytest.raises(Full):
        await over[-1]
    disk.gate.set()
    await waiting
    await taken


async def test_what_comes_within_a_few_turns_of_the_loop_shares_one_transaction() -> None:
    sizes: list[int] = []

    async def write(items: Sequence[int]) -> Sequence[int]:
        sizes.append(len(items))
        return items

    batcher = Batcher[int, int](write)

    async def later(item: int) -> int:
        for _ in range(2 * item):
            await asyncio.sleep(0)
        return await batcher.add(item)

    assert await asyncio.gather(*(later(item) for item in range(8))) == list(range(8))
    assert sizes == [8]
