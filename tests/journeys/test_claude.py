"""Claude Code's failures that are not in the table of outcomes (test_outcomes.py): the real CLI in the real sandbox."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import docker
import pytest

from bot.demo import scenarios
from sandbox import Limits, Reason, State
from tests.engine import Images
from tests.journeys.failing import (
    FILES,
    REFUSED,
    RETRIES,
    RETRY_AFTER,
    Seen,
    assert_ended_as,
    failing,
    failing_settings,
    rows,
)
from tests.local_sandbox import bundle

pytestmark = pytest.mark.engine

AGAIN = 1 + RETRIES
SOON_SECONDS = 60


@dataclass(frozen=True)
class Row:
    """One scenario. ``says`` must be in the error."""

    scenario: str
    says: str
    requests: int = AGAIN
    reason: Reason = Reason.AGENT_ERROR
    limits: Limits = field(default_factory=lambda: Limits(wall_seconds=SOON_SECONDS))


GATEWAY = "The model gateway failed (502)"
IN_MAKE_TEST = (
    Row(RETRY_AFTER, "The model's rate limit was reached (429)"),
    Row(REFUSED, GATEWAY, 0),
    Row("quota", "The model account has no credits left", 1),
)
SLOW = (
    Row("400", "The conversation grew too large", 1),
    Row("413", "The request grew too large for the model gateway (413)", 1),
    Row("503", "The model gateway failed (503)"),
    Row("nocontact", GATEWAY),
    Row("garbage", GATEWAY, 3),
    Row("streamerror", GATEWAY),
)


class Run(Protocol):
    def __call__(self, scenario: str, limits: Limits | None = None) -> Awaitable[Seen]: ...


@pytest.fixture
def run(
    docker_client: docker.DockerClient, engine_host: str, images: Images, nothing_left_behind: str, tmp_path: Path
) -> Run:
    """One task of Claude Code."""
    settings = failing_settings(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")

    async def once(scenario: str, limits: Limits | None = None) -> Seen:
        return await failing(docker_client, settings, "claude", scenario, bundle(tmp_path, FILES), limits=limits)

    return once


@pytest.mark.parametrize("row", rows(IN_MAKE_TEST, SLOW))
async def test_a_failure_ends_with_its_reason_in_words_and_leaves_nothing(row: Row, run: Run) -> None:
    seen = await run(row.scenario, row.limits)
    assert_ended_as(seen, row)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["badtool", scenarios.shell("true")])
async def test_a_tree_that_was_not_changed_is_told(scenario: str, run: Run) -> None:
    seen = await run(scenario)
    assert (seen.state, seen.reason) == (State.SUCCEEDED, Reason.UNCHANGED), seen
    assert seen.outcome.reply != ""
