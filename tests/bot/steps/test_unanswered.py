"""Commands that no webhook told of are found in the conversations, once, and nothing else is."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.steps.unanswered import GRACE, Unanswered, is_command
from tests.bot.hooked import Door, a_hooked_stage
from tests.bot.stage import Stage
from tests.github_world import sent
from tests.openapi.conform import assert_conforms

LIST = "issues/list-comments-for-repo"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
COMMENT: dict[str, Any] = {
    "id": 1,
    "body": "/agent fix it",
    "issue_url": "https://api.github.com/repos/o/r/issues/7",
    "created_at": "2026-01-02T03:00:00Z",
    "updated_at": "2026-01-02T03:00:00Z",
}


@pytest.fixture
async def hooked(tmp_path: Path) -> AsyncIterator[tuple[Stage, Door]]:
    async with a_hooked_stage(tmp_path) as made:
        made[0].clock.time = time.time()  # the local GitHub dates comments by its own clock
        yield made


async def say(stage: Stage, text: str, who: str = "alice") -> None:
    await stage.local.comment(stage.repository, stage.issue, who, text)


async def looked(stage: Stage, seconds: float = GRACE.total_seconds() + 60) -> list[str]:
    """The prompts of all tasks after a look that much later."""
    stage.clock.time += seconds
    await Unanswered(stage.runner.world).look()
    return [task.request.command.prompt for task in await stage.tasks()]


async def test_b19_a_command_of_which_no_webhook_was_made_is_carried_out_once(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await say(stage, "/agent one")
    await stage.local.disconnect_webhook()
    await say(stage, "/agent two")
    await say(stage, "no command")
    await say(stage, "/agent three", who="bob")
    assert await looked(stage, 0) == ["one"], "a webhook may be under way"
    assert await looked(stage) == ["one", "two", "three"]
    assert await looked(stage) == ["one", "two", "three"]
    await stage.settle()
    assert [task.ending for task in await stage.tasks()] == ["changed", "changed", "refused"]
    assert_conforms(stage.local.log)


async def test_its_webhook_may_come_late_all_the_same(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await say(stage, "/agent one")
    await door.close()
    await say(stage, "/agent two")
    await door.open()
    assert await looked(stage) == ["one", "two"]
    await stage.runner._missed.look()
    await stage.local.until(lambda: len(stage.local.deliveries) >= 3)
    assert len(await stage.tasks()) == 2


async def test_what_was_asked_before_this_bots_time_is_not_carried_out(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await stage.local.disconnect_webhook()
    comment = await stage.local.comment(stage.repository, stage.issue, "alice", "/agent of an earlier bot")
    comment.created_at = comment.updated_at = comment.created_at - timedelta(hours=1)
    assert await looked(stage) == []
    assert sent(stage.local, LIST) == 0
    await door.close()
    await door.open()
    await say(stage, "/agent one")
    assert await looked(stage) == ["one"]


async def test_the_same_runner_asks_for_a_thread_once(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await say(stage, "/agent one")
    stage.clock.time += 3600
    looks = Unanswered(stage.runner.world)
    for _ in range(3):
        await looks.look()
    assert sent(stage.local, LIST) == 3
    assert sent(stage.local, "issues/get") == 1


async def test_a_repository_that_is_not_served_any_more_is_not_looked_at(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await say(stage, "/agent one")
    stage.served = "another"
    await stage.restart()
    assert await looked(stage) == ["one"]
    assert sent(stage.local, LIST) == 0


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({}, True),
        ({"body": "well, fix it"}, False),
        ({"body": None}, False),
        ({"updated_at": "2026-01-02T03:00:01Z"}, False),
        ({"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"}, False),
        ({"created_at": "2025-12-01T03:00:00Z", "updated_at": "2025-12-01T03:00:00Z"}, False),
        ({"created_at": "never", "updated_at": "never"}, False),
        ({"issue_url": "https://api.github.com/repos/o/r/issues/7/x"}, False),
        ({"id": "1"}, False),
    ],
)
def test_what_counts(change: dict[str, Any], counts: bool) -> None:
    assert is_command(COMMENT | change, "/agent", NOW - timedelta(days=3), NOW - timedelta(minutes=1)) is counts
