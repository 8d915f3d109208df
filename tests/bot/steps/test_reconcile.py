"""Webhooks that did not arrive are asked for again, so that a command is carried out late rather than never."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.demo.github import Failure
from bot.steps.reconcile import AT_ONCE, NOT_AGAIN_SECONDS, TRIES, Missed
from tests.bot.hooked import Door, a_hooked_stage
from tests.bot.stage import Stage
from tests.github_world import sent

LIST, AGAIN = "apps/list-webhook-deliveries", "apps/redeliver-webhook-delivery"


@pytest.fixture
async def hooked(tmp_path: Path) -> AsyncIterator[tuple[Stage, Door]]:
    async with a_hooked_stage(tmp_path) as made:
        yield made


async def test_b19_commands_written_while_the_server_was_down_are_carried_out(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await door.close()
    for number in range(3):
        await stage.local.comment(stage.repository, stage.issue, "alice", f"/agent fix {number}")
    assert await stage.tasks() == []
    await door.open()

    stage.reconcile_seconds = 900.0
    await stage.restart()
    await stage.runner.step()
    await stage.runner.idle()
    await stage.local.until(lambda: len(stage.local.deliveries) >= 6)
    await stage.settle()
    tasks = await stage.tasks()
    assert [task.request.command.prompt for task in tasks] == ["fix 0", "fix 1", "fix 2"]
    assert [task.ending for task in tasks] == ["changed"] * 3


async def test_b19_a_look_comes_with_the_start_and_every_fifteen_minutes(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    stage.reconcile_seconds = 900.0
    await stage.restart()
    for seconds, looks in ((0, 1), (899, 1), (1, 2)):
        stage.clock.time += seconds
        await stage.settle()
        assert sent(stage.local, LIST) == looks


async def test_b19_what_had_arrived_all_the_same_starts_nothing_twice(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.local.comment(stage.repository, stage.issue, "alice", "/agent fix it")
    stage.local.state.sent[-1].status = None  # GitHub never saw our answer
    await Missed(stage.runner.world).look()
    await stage.local.until(lambda: len(stage.local.deliveries) >= 2)
    assert len(await stage.tasks()) == 1


async def test_one_is_not_asked_for_twice_within_an_hour_and_not_for_ever(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await door.close()
    await stage.local.comment(stage.repository, stage.issue, "alice", "/agent fix it")
    missed = Missed(stage.runner.world)
    for _ in range(3):
        await missed.look()
    assert sent(stage.local, AGAIN) == 1
    for _ in range(TRIES + 2):
        stage.clock.time += NOT_AGAIN_SECONDS
        await missed.look()
    assert sent(stage.local, AGAIN) == TRIES


async def test_only_events_that_are_read_are_asked_for_the_oldest_first_and_a_bounded_number(
    hooked: tuple[Stage, Door],
) -> None:
    stage, door = hooked
    await door.close()
    await stage.local.deliver("star", {"action": "created"})
    for number in range(AT_ONCE + 5):
        await stage.local.comment(stage.repository, stage.issue, "alice", f"words {number}")
    missed = Missed(stage.runner.world)
    await missed.look()
    asked = [exchange.path.split("/")[4] for exchange in stage.local.log if exchange.operation == AGAIN]
    assert asked == [str(one.id) for one in stage.local.state.sent[1 : AT_ONCE + 1]]
    await missed.look()
    assert sent(stage.local, AGAIN) == AT_ONCE + 5


@pytest.mark.parametrize("status", [503, 403])
async def test_a_github_that_does_not_say_stops_nothing(hooked: tuple[Stage, Door], status: int) -> None:
    stage, _ = hooked
    stage.local.fail(Failure(LIST, status, times=None))
    await Missed(stage.runner.world).look()


async def test_one_that_github_does_not_send_again_does_not_hold_up_the_others(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await door.close()
    for number in range(2):
        await stage.local.comment(stage.repository, stage.issue, "alice", f"words {number}")
    stage.local.fail(Failure(AGAIN, 404))
    await Missed(stage.runner.world).look()
    assert sent(stage.local, AGAIN) == 2


async def test_what_is_remembered_is_bounded(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await door.close()
    for number in range(4):
        await stage.local.comment(stage.repository, stage.issue, "alice", f"words {number}")
    missed = Missed(stage.runner.world, remembered=2)
    await missed.look()
    assert len(missed._asked) == 2
