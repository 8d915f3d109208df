"""A running agent is watched until it has ended; what could not be asked is never taken for an end."""

from __future__ import annotations

import pytest

from bot.steps.watch import ended
from sandbox import Phase, Status, Unreachable
from tests.bot.stage import Stage


@pytest.mark.parametrize("phase", list(Phase))
def test_only_a_ready_or_running_sandbox_is_waited_for(phase: Phase) -> None:
    assert ended(Status(phase=phase)) is (phase not in {Phase.READY, Phase.RUNNING})


async def running(stage: Stage) -> str:
    """One task whose agent runs; its sandbox's name."""
    stage.sandbox.automatic = None
    await stage.ask()
    await stage.until(lambda: stage.sandbox.counts()["wait"] >= 1)
    return str((await stage.the_task()).handle)


async def test_sandbox_that_vanished_is_reported_lost(stage: Stage) -> None:
    name = await running(stage)
    del stage.sandbox.boxes[name]
    stage.sandbox.changed.set()
    await stage.settle()
    assert (await stage.the_task()).ending == "lost"
    (said,) = stage.said
    assert "Lost" in said


@pytest.mark.parametrize("call", ["wait", "status", "outcome"])
async def test_engine_that_cannot_be_asked_is_no_lost_task(stage: Stage, call: str) -> None:
    name = await running(stage)
    stage.sandbox.trouble[call] = Unreachable("no daemon")
    stage.sandbox.end(name)
    for _ in range(3):
        await stage.settle()
        assert (await stage.the_task()).ending is None or call == "wait" or call == "status"
        stage.clock.time += 61
    stage.sandbox.trouble.clear()
    await stage.settle()
    assert (await stage.the_task()).ending == "changed"


async def test_cancel_stops_the_agent_and_shows_what_it_did(stage: Stage) -> None:
    name = await running(stage)
    assert await stage.store.request_cancel((await stage.the_task()).task_id)
    stage.clock.time += 11  # the next beat sees it
    await stage.runner.step()
    await stage.so(lambda: bool(stage.runner.world.cancelled))
    stage.sandbox.boxes[name].elapsed += 1  # the next look comes
    stage.sandbox.changed.set()
    await stage.so(lambda: stage.sandbox.counts()["cancel"] == 1)
    await stage.settle()
    assert (await stage.the_task()).ending == "cancelled"
    (said,) = stage.said
    assert "Cancelled" in said


async def test_cancel_before_the_agent_runs_runs_none(stage: Stage) -> None:
    stage.sandbox.trouble["prepare"] = Unreachable("no daemon")
    await stage.ask()
    await stage.settle()
    await stage.store.request_cancel((await stage.the_task()).task_id)
    stage.sandbox.trouble.clear()
    stage.clock.time += 61
    await stage.settle()
    assert (await stage.the_task()).ending == "cancelled"
    assert stage.sandbox.counts()["start"] == 0


async def test_everything_known_is_stored_before_anything_is_posted(stage: Stage) -> None:
    name = await running(stage)
    stage.sandbox.hang.add("remove")
    stage.sandbox.end(name)
    await stage.local.await_comment(lambda c: c.by_app and "+new" in c.body)
    task = await stage.the_task()
    assert (task.state, task.ending) == ("publishing", "changed")
    assert await stage.store.patch(task.task_id)
    stage.sandbox.hang.clear()
    stage.sandbox.changed.set()
    await stage.settle()
