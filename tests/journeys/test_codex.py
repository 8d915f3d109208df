"""Codex's table of failures, and its success: the real CLI in the real sandbox, in front of the scripted model."""

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
    assert_did_as_scripted,
    assert_ended_as,
    failing,
    failing_settings,
    rows,
)
from tests.local_sandbox import bundle

pytestmark = pytest.mark.engine

AGAIN = 1 + RETRIES
# A CLI starts, asks twice and ends within a second; the machine may be busy with other containers.
SOON_SECONDS = 30
HANG_SECONDS = 6


@dataclass(frozen=True)
class Row:
    """One scenario. ``says`` must be in the error."""

    scenario: str
    reason: Reason
    says: str
    requests: int
    state: State = State.FAILED
    limits: Limits = field(default_factory=lambda: Limits(wall_seconds=SOON_SECONDS))


def failed(scenario: str, says: str, requests: int) -> Row:
    """The agent's own report of an error."""
    return Row(scenario, Reason.AGENT_ERROR, says, requests)


BROKEN = "The connection to the model gateway broke and all retries failed"
IN_MAKE_TEST = (
    failed("401", "The model gateway refused the key (401)", AGAIN),
    failed("429", "The model's rate limit was reached (429)", 1),
    failed("500", "The model gateway failed", AGAIN),
    failed("cut", BROKEN, AGAIN),
    Row("hang", Reason.DEADLINE, "The agent was stopped after 6 s", 1, limits=Limits(wall_seconds=HANG_SECONDS)),
)
SLOW = (
    failed("400", "The conversation grew too large", 1),
    failed("402", "The model account has no credits left (402)", AGAIN),
    failed("403", "The model gateway does not let this key use that model (403)", AGAIN),
    failed("404", "The model gateway does not know the model (404)", 1),
    failed("413", "The request grew too large for the model gateway (413)", AGAIN),
    failed(RETRY_AFTER, "The model's rate limit was reached (429)", AGAIN),
    failed("quota", "The model account has no credits left", 1),
    failed("503", "The model gateway failed (503)", AGAIN),
    failed("529", "The model was overloaded (529)", AGAIN),
    failed("html", "The model gateway failed (502)", AGAIN),
    failed("nocontact", "The model gateway failed (502)", AGAIN),
    failed(REFUSED, "The model gateway failed (502)", 0),
    failed("drop", BROKEN, AGAIN),
    failed("garbage", BROKEN, AGAIN),
    failed("streamerror", BROKEN, AGAIN),
    failed("stall", "The model gateway did not answer in time", AGAIN),
    failed("maxtokens", "One answer of the model was longer than the output limit", 1),
    # This CLI says nothing of a refusal by the API: it ends as a success without a word.
    Row("refusal", Reason.NO_REPLY, "without", 1),
    Row("empty", Reason.NO_REPLY, "without", 1),
)


class Run(Protocol):
    def __call__(self, scenario: str, limits: Limits | None = None, model_name: str = "") -> Awaitable[Seen]: ...


@pytest.fixture
def run(
    docker_client: docker.DockerClient, engine_host: str, images: Images, nothing_left_behind: str, tmp_path: Path
) -> Run:
    """One task of Codex."""
    settings = failing_settings(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")

    async def once(scenario: str, limits: Limits | None = None, model_name: str = "") -> Seen:
        source = bundle(tmp_path, FILES)
        return await failing(docker_client, settings, "codex", scenario, source, limits=limits, model_name=model_name)

    return once


@pytest.mark.parametrize(
    "model",
    [
        "gpt-5.5",
        # Calls its tools from JavaScript, by the second binary, and gets them in the input.
        pytest.param("gpt-5.6-sol", id="code mode"),
        pytest.param("openai/no-such-model", marks=pytest.mark.slow),
    ],
)
async def test_a_task_ends_with_its_changes(model: str, run: Run) -> None:
    seen = await run("ok", model_name=model)
    outcome = assert_did_as_scripted(seen)
    used = outcome.usage
    assert (used.input_tokens, used.cached_input_tokens, used.output_tokens) == (600, 3000, 102)
    metered = outcome.metered
    assert (metered.input_tokens, metered.cached_input_tokens, metered.output_tokens) == (600, 3000, 102)
    assert outcome.notes == ()


@pytest.mark.parametrize("row", rows(IN_MAKE_TEST, SLOW))
async def test_a_failure_ends_with_its_reason_in_words_and_leaves_nothing(row: Row, run: Run) -> None:
    seen = await run(row.scenario, row.limits)
    assert_ended_as(seen, row, state=row.state, beyond_seconds=5)


@pytest.mark.slow
async def test_a_loop_without_an_end_is_ended_from_outside(run: Run) -> None:
    seen = await run("loop", Limits(wall_seconds=SOON_SECONDS, model_requests=40))
    assert seen.state is State.FAILED
    assert seen.reason in {Reason.LOOP, Reason.BUDGET}, seen
    assert seen.left == ()


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["noop", "decline", "badtool", scenarios.shell("true")])
async def test_a_tree_that_was_not_changed_is_told(scenario: str, run: Run) -> None:
    seen = await run(scenario)
    assert (seen.state, seen.reason) == (State.SUCCEEDED, Reason.UNCHANGED), seen
    assert seen.outcome.reply != ""
