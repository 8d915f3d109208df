"""One task that fails, of any agent, through the real CLI in the real sandbox: for the tables of failures.

    seen = await failing(docker_client, settings, "codex", "401", bundle(tmp_path, FILES))
    assert seen.reason is Reason.AGENT_ERROR and seen.requests == 1 and seen.left == ()

``failing_settings`` has retries and time-outs short enough for a table of thirty rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import docker
import pytest
from _pytest.mark import ParameterSet

from sandbox import AgentName, AgentSettings, Api, Limits, Outcome, Reason, Settings, Source, State
from tests.engine import labelled, loop_names
from tests.local_sandbox import local_sandbox, settings_for

# A second attempt of a CLI shows that it retries; more only takes time.
RETRIES = 1
# What the scripted model answers at all, it answers in milliseconds.
TIMEOUT_SECONDS = 5
# Beyond the longest of the runs that end by themselves; those that do not are given less by their row.
WALL_SECONDS = 90
RETRY_AFTER_SECONDS = 1

FILES = {"README.md": b"# Here\n"}
"""A repository for one of them."""
REFUSED = "refused"
"""A scenario of this runner's own: nobody listens at the model's address."""
RETRY_AFTER = "429-ra"
"""Another: 429 with a Retry-After."""


@dataclass(frozen=True)
class Seen:
    """What came of it."""

    state: State
    reason: Reason
    error: str
    """In words."""
    seconds: float
    """From the agent's start to its end."""
    asked: tuple[str, ...]
    """Questions that reached the model, each with what tells it from the others: when, how large, where to."""
    left: tuple[str, ...]
    """What is left of the sandbox on the engine once it has been removed: nothing, as it should be."""
    outcome: Outcome

    @property
    def requests(self) -> int:
        return len(self.asked)

    def __str__(self) -> str:
        words = f"{self.state} {self.reason} {self.seconds:.1f} s, requests: {self.asked}, {self.error!r}"
        return f"{words}, left {self.left}" if self.left else words


class Expected(Protocol):
    """A row of a table: what becomes of a scenario. ``says`` must be in the error."""

    @property
    def scenario(self) -> str: ...
    @property
    def reason(self) -> Reason: ...
    @property
    def says(self) -> str: ...
    @property
    def requests(self) -> int: ...
    @property
    def limits(self) -> Limits: ...


def rows(quick: Sequence[Expected], slow: Sequence[Expected]) -> list[ParameterSet]:
    """As parameters of a test, by scenario."""
    return [
        *(pytest.param(row, id=row.scenario) for row in quick),
        *(pytest.param(row, id=row.scenario, marks=pytest.mark.slow) for row in slow),
    ]


def assert_ended_as(
    seen: Seen, row: Expected, *, state: State = State.FAILED, beyond_seconds: float = 0.0, again: int = 0
) -> None:
    """With its reason, in words, within its time (and ``beyond_seconds``, where that time is what ends it), and nothing
    left. So many questions may be asked ``again``."""
    assert (seen.state, seen.reason) == (state, row.reason), seen
    assert row.says in seen.error, seen
    assert row.requests <= seen.requests <= row.requests + again, seen
    assert seen.seconds < row.limits.wall_seconds + beyond_seconds, seen
    assert seen.left == ()


def assert_did_as_scripted(seen: Seen) -> Outcome:
    """The scenario ``ok`` over ``FILES``: both files, the last words, three questions. The outcome, to ask it more."""
    outcome = seen.outcome
    assert (seen.state, seen.reason, seen.left) == (State.SUCCEEDED, Reason.OK, ()), seen
    assert outcome.reply == "Done: I wrote NOTES.md and pointed to it from README.md."
    assert outcome.changes is not None
    assert [(file.path, file.status) for file in outcome.changes.files] == [
        ("NOTES.md", "added"),
        ("README.md", "modified"),
    ]
    assert outcome.model_requests == 3
    return outcome


def failing_settings(host: str, prefix: str, instance: str, state_dir: Path) -> Settings:
    """``settings_for`` with short retries and time-outs."""
    agent = AgentSettings(max_retries=RETRIES, api_timeout_seconds=TIMEOUT_SECONDS)
    return settings_for(host, prefix, instance, state_dir, agent)


async def failing(
    client: docker.DockerClient,
    settings: Settings,
    agent: AgentName,
    scenario: str,
    source: Source,
    *,
    api: Api | None = None,
    limits: Limits | None = None,
    prompt: str = "Write some notes.",
    model_name: str = "",
) -> Seen:
    """Run one task over ``settings`` to its end, remove it, and look what is left of it."""
    started = "429" if scenario == RETRY_AFTER else "ok" if scenario == REFUSED else scenario
    async with local_sandbox(client, settings, scenario=started, agent=agent, api=api, model_name=model_name) as world:
        if scenario == RETRY_AFTER:
            world.model.retry_after = str(RETRY_AFTER_SECONDS)
        if scenario == REFUSED:
            await world.model.stop()
        outcome = await world.run(prompt, source, limits or Limits(wall_seconds=WALL_SECONDS))
        questions = world.model.questions
        asked = tuple(f"{one.at - questions[0].at:.2f} s {len(one.body)} bytes {one.path}" for one in questions)
    return Seen(
        outcome.state,
        outcome.reason,
        outcome.error,
        outcome.duration_seconds,
        asked,
        left_behind(client, settings.instance),
        outcome,
    )


def left_behind(client: docker.DockerClient, instance: str) -> tuple[str, ...]:
    """Containers, volumes, networks and loop images that belong to a sandbox of this instance, by name."""
    things = [f"{thing.kind} {thing.name}" for thing in labelled(client, instance, "gofer.sandbox")]
    return (*things, *(f"loop {name}" for name in loop_names(client, instance)))
