"""What belongs to nobody is removed; what belongs to somebody, or may, is not."""

from __future__ import annotations

from bot.runner import SWEEP_SECONDS, SWEEP_SOON_SECONDS
from bot.steps.sweep import sweep
from sandbox import Job, Source, Unreachable
from tests.bot.fake_sandbox import Box
from tests.bot.stage import Stage


def leave(stage: Stage, name: str) -> None:
    job = Job(name=name, prompt="x", source=Source(url="https://github.com/o/r"))
    stage.sandbox.boxes[name] = Box(job)


async def test_b94_sandbox_of_nobody_is_removed_at_the_start(stage: Stage) -> None:
    leave(stage, "t0123456789")
    await stage.settle()
    assert stage.sandbox.boxes == {}


async def test_b94_sandbox_of_nobody_is_removed_on_the_timer(stage: Stage) -> None:
    await stage.settle()
    leave(stage, "t0123456789")
    await stage.settle()
    assert stage.sandbox.boxes
    stage.clock.time += SWEEP_SECONDS
    await stage.settle()
    assert stage.sandbox.boxes == {}


async def test_sandbox_of_an_unfinished_task_is_left_alone(stage: Stage) -> None:
    stage.sandbox.automatic = None
    await stage.ask()
    await stage.until(lambda: stage.sandbox.counts()["wait"] >= 1)
    assert await sweep(stage.runner.world)
    assert len(stage.sandbox.boxes) == 1


async def test_sandbox_of_gofer_run_is_none_of_ours(stage: Stage) -> None:
    leave(stage, "run-0123456789ab")
    assert await sweep(stage.runner.world)
    assert list(stage.sandbox.boxes) == ["run-0123456789ab"]


async def test_engine_that_cannot_be_asked_has_nothing_removed(stage: Stage) -> None:
    leave(stage, "t0123456789")
    stage.sandbox.trouble["handles"] = Unreachable("no daemon")
    assert not await sweep(stage.runner.world)
    assert stage.sandbox.boxes


async def test_engine_that_is_down_is_not_asked_at_each_look(stage: Stage) -> None:
    stage.sandbox.trouble["handles"] = Unreachable("no daemon")
    stage.runner.world.untidy.append("t0123456789")
    for _ in range(10):
        await stage.runner.step()
        await stage.runner.idle()
        stage.clock.time += 2
    assert stage.sandbox.counts()["handles"] == 1
    stage.clock.time += SWEEP_SOON_SECONDS
    await stage.settle()
    assert stage.sandbox.counts()["handles"] == 2
