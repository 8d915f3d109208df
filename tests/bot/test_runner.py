"""The loop: wakes, stops, and goes on whatever stumbles."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.demo.github import Failure
from bot.runner import LOOK_SECONDS
from bot.store import Caps
from bot.store.store import LEASE_SECONDS
from sandbox import spawn
from tests.bot.eventually import eventually_is
from tests.bot.stage import Stage, a_stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with a_stage(tmp_path, caps=Caps(running=4, per_repository=3)) as made:
        yield made


async def test_loop_does_what_comes_when_it_is_woken(stage: Stage) -> None:
    loop = spawn(stage.runner.run(), name="loop")
    await stage.so(stage.runner.alive)
    began = time.monotonic()
    await stage.ask()
    stage.runner.wake()
    await stage.local.await_comment(lambda c: c.by_app and "+new" in c.body)
    assert time.monotonic() - began < LOOK_SECONDS, "it waited for the timer"
    await stage.runner.stop()
    await loop


async def test_loop_finds_by_itself_what_nobody_told_it(stage: Stage) -> None:
    loop = spawn(stage.runner.run(), name="loop")
    await stage.so(stage.runner.alive)
    await stage.ask()
    await stage.local.await_comment(lambda c: c.by_app and "+new" in c.body)
    await stage.runner.stop()
    await loop


async def test_places_are_kept_over_repositories_and_threads(stage: Stage) -> None:
    stage.sandbox.automatic = None
    other = stage.local.add_repository("octo", "other", {}, roles={"alice": "write"})
    for repository in (stage.repository, other):
        for _ in range(4):
            await stage.ask(repository=repository, issue=stage.local.add_issue(repository))
    done: set[str] = set()
    while len(done) < 8:
        await stage.until(lambda: bool(stage.sandbox.boxes.keys() - done))
        for name in stage.sandbox.boxes.keys() - done:
            await stage.so(lambda name=name: stage.sandbox.boxes[name].phase == "running")  # type: ignore[misc]
            stage.sandbox.end(name)
            done.add(name)
    await stage.settle()
    assert {task.ending for task in await stage.tasks()} == {"changed"}
    assert stage.sandbox.running_at_most <= 4


async def test_stop_lets_go_of_everything_and_leaves_sandboxes_running(stage: Stage) -> None:
    stage.sandbox.automatic = None
    await stage.ask()
    await stage.until(lambda: stage.sandbox.counts()["wait"] >= 1)
    began = time.monotonic()
    await stage.runner.stop()
    assert time.monotonic() - began < 3
    task = await stage.the_task()
    assert (task.state, task.worker) == ("running", None)
    assert stage.sandbox.counts()["remove"] == stage.sandbox.counts()["cancel"] == 0
    await stage.runner.step()
    assert not stage.runner.working


@pytest.mark.parametrize("call", ["prepare", "outcome", "remove", "handles"])
async def test_stop_is_quick_whatever_hangs_in_the_engine(stage: Stage, call: str) -> None:
    stage.sandbox.hang.add(call)
    await stage.ask()
    await stage.until(lambda: stage.sandbox.counts()[call] >= 1)
    began = time.monotonic()
    await stage.runner.stop()
    assert time.monotonic() - began < 3
    stage.sandbox.hang.clear()


async def test_stop_is_quick_while_github_hangs(stage: Stage) -> None:
    hanging = stage.local.fail(Failure("*", hang=True, times=None))
    await stage.ask()
    await stage.until(lambda: hanging.hits > 0)
    began = time.monotonic()
    await stage.runner.stop()
    assert time.monotonic() - began < 3
    stage.local.failures.clear()


async def test_slow_engine_holds_up_no_other_task(stage: Stage) -> None:
    stage.sandbox.hang.add("outcome")
    await stage.ask()
    await stage.until(lambda: stage.sandbox.counts()["outcome"] == 1)
    stage.sandbox.hang.clear()  # for those that come now; the first one waits on
    await stage.ask(issue=stage.local.add_issue(stage.repository))
    async with asyncio.timeout(10):
        while [t.ending for t in await stage.tasks()][1] is None:
            await stage.runner.step()
            await asyncio.sleep(0.005)
    stage.sandbox.changed.set()
    await stage.settle()


async def test_loop_goes_on_after_the_database_stumbled(stage: Stage) -> None:
    await stage.store.close()
    loop = spawn(stage.runner.run(), name="loop")
    await asyncio.sleep(0)
    await stage.so(lambda: not stage.runner.alive())
    assert not loop.done()
    await stage.runner.stop()
    await loop
    await stage.open()


async def test_clock_that_is_put_back_by_a_day_stops_no_beat_no_sweep_and_no_health(stage: Stage) -> None:
    await stage.settle()
    swept = stage.sandbox.counts()["handles"]
    stage.sandbox.automatic = None
    await stage.ask()
    await stage.until(lambda: stage.sandbox.counts()["wait"] >= 1)
    stage.clock.time -= 86_400
    await stage.runner.step()
    assert stage.runner.alive()
    await stage.so(lambda: stage.sandbox.counts()["handles"] == swept + 1)

    async def beaten() -> bool:
        return (await stage.the_task()).lease_until == stage.clock.time + LEASE_SECONDS

    await eventually_is(beaten, True)
    stage.sandbox.end(str((await stage.the_task()).handle))
    await stage.settle()
    assert (await stage.the_task()).ending == "changed"
