"""Pi's table of failures, and its success over each API: the real CLI in the real sandbox, before the scripted model.

It exits with 0 whatever happened: every row is told by what it printed.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import docker
import pytest

from bot.demo import scenarios
from sandbox import Api, Limits, Reason, State
from sandbox.agents import AGENTS, Run
from tests.agent_container import agent_container
from tests.engine import Images
from tests.journeys.failing import (
    FILES,
    REFUSED,
    RETRY_AFTER,
    TIMEOUT_SECONDS,
    Seen,
    assert_did_as_scripted,
    assert_ended_as,
    failing,
    failing_settings,
    rows,
)
from tests.local_sandbox import bundle

pytestmark = pytest.mark.engine

# It starts in half a second where the machine has nothing else to do, and waits 2 s before it asks again; busy machines
# were seen that took twenty times as long.
SOON_SECONDS = 45
TWICE = 2


@dataclass(frozen=True)
class Row:
    """One scenario. ``says`` must be in the error."""

    scenario: str
    reason: Reason
    says: str
    requests: int = 1
    limits: Limits = field(default_factory=lambda: Limits(wall_seconds=SOON_SECONDS))


def failed(scenario: str, says: str, requests: int = 1) -> Row:
    """The agent's own report of an error, at once or (``requests``) when asked again."""
    return Row(scenario, Reason.AGENT_ERROR, says, requests)


BROKEN = "The connection to the model gateway broke and all retries failed"
LATE = "The model gateway did not answer in time"
IN_MAKE_TEST = (
    failed("401", "The model gateway refused the key (401)"),
    failed("429", "The model's rate limit was reached (429)", TWICE),
    Row("refusal", Reason.REFUSED, "The model refused this request."),
    failed("maxtokens", "One answer of the model was longer than the output limit"),
    Row("empty", Reason.NO_REPLY, "without a word"),
)
SLOW = (
    failed("400", "The conversation grew too large"),
    failed("402", "The model account has no credits left (402)"),
    failed("403", "The model gateway does not let this key use that model (403)"),
    failed("404", "The model gateway does not know the model (404)"),
    failed("413", "The request grew too large for the model gateway (413)"),
    failed("quota", "The model account has no credits left"),
    failed(RETRY_AFTER, "The model's rate limit was reached (429)", TWICE),
    failed("500", "The model gateway failed (500)", TWICE),
    failed("503", "The model gateway failed (503)", TWICE),
    failed("529", "The model was overloaded (529)", TWICE),
    failed("html", "The model gateway failed (502)", TWICE),
    failed("nocontact", "The model gateway failed (502)", TWICE),
    failed(REFUSED, "The model gateway failed (502)", 0),
    failed("drop", BROKEN, TWICE),
    failed("cut", BROKEN, TWICE),
    failed("garbage", BROKEN, TWICE),
    failed("streamerror", "The model was overloaded", TWICE),
    failed("hang", LATE, TWICE),
    failed("stall", LATE, TWICE),
)


class RunOne(Protocol):
    def __call__(
        self, scenario: str, limits: Limits | None = None, api: Api | None = None, prompt: str = ""
    ) -> Awaitable[Seen]: ...


@pytest.fixture
def run(
    docker_client: docker.DockerClient, engine_host: str, images: Images, nothing_left_behind: str, tmp_path: Path
) -> RunOne:
    """One task of Pi."""
    settings = failing_settings(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")

    async def once(scenario: str, limits: Limits | None = None, api: Api | None = None, prompt: str = "") -> Seen:
        limits = limits or Limits(wall_seconds=SOON_SECONDS)
        source, prompt = bundle(tmp_path, FILES), prompt or "Write some notes."
        return await failing(docker_client, settings, "pi", scenario, source, limits=limits, api=api, prompt=prompt)

    return once


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-responses", "openai-chat"])
async def test_a_task_ends_with_its_changes(api: Api, run: RunOne) -> None:
    seen = await run("ok", api=api)
    outcome = assert_did_as_scripted(seen)
    used = outcome.usage
    assert (used.turns, used.input_tokens, used.cached_input_tokens, used.output_tokens) == (3, 600, 3000, 102)
    assert used.session_id
    assert outcome.blocked == ()  # it asked for nothing but its model


@pytest.mark.parametrize("row", rows(IN_MAKE_TEST, SLOW))
async def test_a_failure_ends_with_its_reason_in_words_and_leaves_nothing(row: Row, run: RunOne) -> None:
    seen = await run(row.scenario, row.limits)
    assert_ended_as(seen, row)


@pytest.mark.slow
async def test_a_hang_lasts_as_long_as_the_operator_says(run: RunOne) -> None:
    seen = await run("hang")
    assert 2 * TIMEOUT_SECONDS <= seen.seconds < SOON_SECONDS, seen


@pytest.mark.slow
async def test_a_model_without_an_end_is_ended_from_outside(run: RunOne) -> None:
    seen = await run("loop", Limits(wall_seconds=SOON_SECONDS, model_requests=12))
    assert (seen.state, seen.reason) == (State.FAILED, Reason.BUDGET), seen
    assert seen.requests <= 12, seen
    assert seen.left == ()


@pytest.mark.slow
@pytest.mark.parametrize("api", ["openai-responses", "openai-chat"])
@pytest.mark.parametrize("row", [IN_MAKE_TEST[0], IN_MAKE_TEST[3]], ids=["401", "maxtokens"])
async def test_the_other_apis_fail_in_the_same_words(row: Row, api: Api, run: RunOne) -> None:
    seen = await run(row.scenario, row.limits, api)
    assert (seen.state, seen.reason, seen.requests, seen.left) == (State.FAILED, row.reason, row.requests, ()), seen
    assert row.says in seen.error, seen


@pytest.mark.slow
async def test_a_refusal_over_chat_completions_is_told(run: RunOne) -> None:
    """Over Responses it is words as any others."""
    seen = await run("refusal", api="openai-chat")
    assert (seen.state, seen.reason) == (State.FAILED, Reason.REFUSED), seen


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["noop", "decline", "badtool", scenarios.shell("true")])
async def test_a_tree_that_was_not_changed_is_told(scenario: str, run: RunOne) -> None:
    seen = await run(scenario)
    assert (seen.state, seen.reason) == (State.SUCCEEDED, Reason.UNCHANGED), seen
    assert seen.outcome.reply != ""


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["/help", "/quit now", "@README.md", "!ls", "--approve", "/skill:x y"])
async def test_a_prompt_that_looks_like_something_else_is_a_prompt(prompt: str, run: RunOne) -> None:
    seen = await run("ok", prompt=prompt)
    assert (seen.state, seen.reason) == (State.SUCCEEDED, Reason.OK), seen
    assert seen.outcome.changes is not None
    assert f"+> {prompt}\n" in (seen.outcome.changes.patch or b"").decode()


async def test_a_subscription_is_announced_to_the_provider_as_it_must_be(
    engine_host: str, images: Images, instance: str
) -> None:
    """The egress sets the real token in place of the placeholder; the rest of the request is the CLI's."""
    home = AGENTS["pi"].home(Run(AGENTS["pi"].default_model, oauth=True))
    async with agent_container(engine_host, images, instance, FILES, scenario="noop", agent="pi", home=home) as box:
        ended = await box.cli()
        (seen,) = box.model.questions
    assert ended.code == 0
    assert seen.headers["authorization"] == "Bearer sk-ant-oat-placeholder"
    assert "oauth-" in seen.headers["anthropic-beta"]
    assert "x-api-key" not in seen.headers
