"""The one place where tasks are made: named, kept, and their death is told."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref

import pytest

from sandbox.background import spawn

SECONDS = 10


async def test_a_task_that_nobody_holds_runs_to_its_end() -> None:
    """The loop itself keeps a weak reference only: what waits for something that it alone knows would be collected."""
    waited_for: list[weakref.ref[asyncio.Future[None]]] = []
    done = asyncio.Event()

    async def work() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waited_for.append(weakref.ref(future))
        await future
        done.set()

    spawn(work(), name="held")
    await asyncio.sleep(0)
    gc.collect()
    future = waited_for[0]()
    assert future is not None, "the task is gone, with all that it held"
    future.set_result(None)
    await asyncio.wait_for(done.wait(), SECONDS)


async def test_a_death_that_nobody_awaits_is_logged_with_its_name(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise ValueError("broken")

    task = spawn(work(), name="sweep")
    await asyncio.wait([task], timeout=SECONDS)
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "background task sweep died")
    assert record.exc_info is not None
    assert record.exc_info[0] is ValueError


async def test_a_cancelled_task_is_no_death(caplog: pytest.LogCaptureFixture) -> None:
    task = spawn(asyncio.Event().wait(), name="watch")
    task.cancel()
    await asyncio.wait([task], timeout=SECONDS)
    assert task.cancelled()
    assert caplog.records == []
