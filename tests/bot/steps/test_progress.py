"""The status comment while the agent works."""

from __future__ import annotations

import asyncio

import pytest

from bot.demo.github import Failure
from bot.steps.progress import SHORTEST, due
from sandbox import Progress
from tests.bot.stage import Stage
from tests.bot.steps.test_watch import running

HOUR = 3600


@pytest.mark.parametrize(
    ("since", "elapsed", "answer"),
    [(14.9, 20, False), (15, 20, True), (15, 600, False), (60, 600, True), (179, 1800, False), (180, 1800, True)],
)
def test_comment_changes_less_often_the_longer_it_takes(since: float, elapsed: float, answer: bool) -> None:
    assert due(since, 0.0, elapsed) is answer


def test_b80_an_hour_s_task_changes_its_comment_fewer_than_a_hundred_times() -> None:
    changes, changed_at = 0, 0.0
    for second in range(HOUR):
        if due(second, changed_at, second):
            changes, changed_at = changes + 1, second
    assert 20 < changes < 100


async def look(stage: Stage, name: str, seconds: float, **progress: str) -> None:
    """Time passes, the agent says something, and the runner looks."""
    box = stage.sandbox.boxes[name]
    stage.clock.time += seconds
    box.elapsed += seconds
    box.progress = Progress(**progress)
    looks = stage.sandbox.counts()["wait"]
    stage.sandbox.changed.set()
    await stage.so(lambda: stage.sandbox.counts()["wait"] > looks)


def edits(stage: Stage) -> int:
    return sum(e.operation == "issues/update-comment" for e in stage.local.log)


async def test_status_comment_shows_what_the_agent_does_at_most_every_15_seconds(stage: Stage) -> None:
    name = await running(stage)
    await stage.local.await_comment(lambda c: "Working" in c.body)
    before = edits(stage)
    for _ in range(5):
        await look(stage, name, 2.0, last_tool="Edit", last_file="soon.py")
    assert edits(stage) == before
    await look(stage, name, SHORTEST, last_tool="Edit", last_file="later.py")
    await stage.local.await_comment(lambda c: "later.py" in c.body)
    assert edits(stage) == before + 1
    stage.sandbox.end(name)
    await stage.settle()
    assert len(stage.said) == 1


async def test_change_that_hangs_holds_up_neither_the_watching_nor_the_result(stage: Stage) -> None:
    stage.local.fail(Failure("issues/update-comment", hang=True, times=1))
    name = await running(stage)
    await stage.so(lambda: edits(stage) == 1 or any(f.hits for f in stage.local.failures))
    stage.sandbox.end(name)
    async with asyncio.timeout(8):
        await stage.settle()
    (said,) = stage.said
    assert "+new" in said
    assert (await stage.the_task()).ending == "changed"


async def test_failed_change_is_tried_again_and_ends_nothing(stage: Stage) -> None:
    stage.local.fail(Failure("issues/update-comment", 502, times=1))
    name = await running(stage)
    await stage.so(lambda: bool(stage.local.failures[0].hits))
    await look(stage, name, SHORTEST, last_tool="Bash")
    await stage.local.await_comment(lambda c: "Bash" in c.body)
    stage.sandbox.end(name)
    await stage.settle()
    assert (await stage.the_task()).ending == "changed"


async def test_status_comment_that_somebody_deleted_stays_away_until_the_result(stage: Stage) -> None:
    name = await running(stage)
    status = await stage.local.await_comment(lambda c: "Working" in c.body)
    await stage.local.delete(stage.repository, stage.issue, status)
    await look(stage, name, SHORTEST, last_tool="Bash")
    await stage.so(lambda: any(e.status == 404 for e in stage.local.log))
    assert stage.said == []
    stage.sandbox.end(name)
    await stage.settle()
    (said,) = stage.said
    assert "+new" in said
