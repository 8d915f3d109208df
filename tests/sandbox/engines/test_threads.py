"""The pool: results and errors come back, a hung call neither blocks the others nor the interpreter's end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from sandbox import spawn
from sandbox.engines.threads import Threads

BOUND = 10.0


@pytest.fixture
def threads() -> Iterator[Threads]:
    pool = Threads("test-pool", 2)
    yield pool
    pool.close()


async def test_results_and_errors_come_back(threads: Threads) -> None:
    assert await threads.run(lambda: threading.current_thread().name) in {"test-pool-0", "test-pool-1"}
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)


async def test_one_hung_call_leaves_the_other_threads_working(threads: Threads) -> None:
    release = threading.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await threads.run(release.wait)
    assert await asyncio.wait_for(threads.run(lambda: 7), BOUND) == 7
    release.set()


async def test_work_of_a_caller_that_left_is_not_begun(threads: Threads) -> None:
    release, begun = threading.Event(), threading.Event()
    busy = [spawn(threads.run(release.wait), name="busy") for _ in range(2)]
    await asyncio.sleep(0)  # both are in the queue before ours
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await threads.run(begun.set)
    release.set()
    await asyncio.wait_for(asyncio.gather(*busy), BOUND)
    await asyncio.wait_for(threads.run(lambda: None), BOUND)
    assert not begun.is_set()


def test_the_interpreter_ends_although_a_call_hangs() -> None:
    script = """
import asyncio, threading
from sandbox.engines.threads import Threads
async def main():
    pool = Threads("p", 1)
    try:
        await asyncio.wait_for(pool.run(threading.Event().wait), 0.05)
    except TimeoutError:
        print("left")
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=BOUND, check=True)
    assert done.stdout == "left\n"
