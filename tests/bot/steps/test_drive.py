"""A held task goes step by step, and every kind of failure has its own way on."""

from __future__ import annotations

import pytest

from bot.steps.drive import LONGEST_PAUSE, SURPRISES, pause
from bot.store.store import LEASE_SECONDS
from tests.bot.stage import Stage
from tests.bot.steps.test_watch import running


def test_pauses_grow_and_end_growing() -> None:
    pauses = [pause(n) for n in range(40)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (2.0, LONGEST_PAUSE)


@pytest.mark.parametrize("call", ["prepare", "start", "wait", "outcome"])
async def test_error_that_nobody_foresaw_ends_in_an_answer_to_the_asker(stage: Stage, call: str) -> None:
    stage.sandbox.automatic = None if call == "wait" else stage.sandbox.automatic
    stage.sandbox.trouble[call] = ZeroDivisionError("secret detail")
    await stage.ask()
    for _ in range(SURPRISES + 3):
        await stage.settle()
        stage.clock.time += 61
    assert (await stage.the_task()).ending == "failed"
    (said,) = stage.said
    assert "error inside this bot" in said
    assert "secret detail" not in said
    assert stage.sandbox.boxes == {}


async def test_worker_that_lost_its_lease_says_and_writes_nothing_more(stage: Stage) -> None:
    """It was frozen; another worker has gone on meanwhile."""
    name = await running(stage)
    stage.clock.time += LEASE_SECONDS
    (task,) = await stage.store.claim("other", stage.caps)
    said = list(stage.said)
    stage.sandbox.end(name)
    await stage.runner.idle()

    assert stage.said == said
    assert await stage.store.task(task.task_id) == task
    assert stage.sandbox.counts()["remove"] == 0


async def test_beat_finds_out_that_another_worker_has_the_task(stage: Stage) -> None:
    await running(stage)
    stage.clock.time += LEASE_SECONDS
    await stage.store.claim("other", stage.caps)
    await stage.runner.step()
    await stage.runner.idle()
    assert not stage.runner.working
    assert stage.sandbox.counts()["remove"] == stage.sandbox.counts()["outcome"] == 0
