"""A budget that is used up, or a question in a loop, ends a real agent's task with its reason; its work stays."""

from __future__ import annotations

from pathlib import Path

import docker
import pytest

from sandbox import AgentName, Limits, Outcome, Reason, Settings, State
from tests.engine import Images
from tests.local_sandbox import LocalSandbox, bundle, local_sandbox, settings_for

pytestmark = pytest.mark.engine

FILES = {"README.md": b"# A project\n"}


@pytest.fixture
def settings(engine_host: str, images: Images, instance: str, tmp_path: Path) -> Settings:
    return settings_for(engine_host, images.prefix, instance, tmp_path / "state")


async def limited(
    client: docker.DockerClient, settings: Settings, folder: Path, agent: AgentName, limits: Limits, scenario: str
) -> tuple[Outcome, LocalSandbox]:
    async with local_sandbox(client, settings, agent=agent, scenario=scenario) as local:
        return await local.run("Write notes.", bundle(folder, FILES), limits), local


async def test_the_next_question_is_held_and_the_work_so_far_is_shown(
    docker_client: docker.DockerClient, settings: Settings, tmp_path: Path
) -> None:
    outcome, local = await limited(
        docker_client, settings, tmp_path, "claude", Limits(wall_seconds=60, model_requests=2), "ok"
    )
    assert (outcome.state, outcome.reason) == (State.FAILED, Reason.BUDGET)
    assert outcome.error == "The agent was stopped at its limit of 2 questions to the model."
    assert len(local.model.questions) == 2
    assert outcome.changes is not None
    assert [file.path for file in outcome.changes.files] == ["NOTES.md", "README.md"][: len(outcome.changes.files)]
    assert outcome.changes.files
    assert outcome.metered.output_tokens is not None


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude", "codex", "opencode", "pi"])
async def test_no_agent_takes_a_held_question_for_a_refusal_of_the_provider(
    docker_client: docker.DockerClient, settings: Settings, tmp_path: Path, agent: AgentName
) -> None:
    limits = Limits(wall_seconds=100, model_requests=5)
    outcome, local = await limited(docker_client, settings, tmp_path, agent, limits, "loop")
    assert (outcome.state, outcome.reason) == (State.FAILED, Reason.BUDGET), outcome.error
    assert len(local.model.questions) == 5
    assert outcome.duration_seconds < 40


@pytest.mark.slow
async def test_opencodes_loop_over_a_stream_that_ends_without_its_end_is_cut(
    docker_client: docker.DockerClient, settings: Settings, tmp_path: Path
) -> None:
    """It asks the same again without a pause, for ever (976 times in 380 s were seen), each time with what it had heard
    until then behind it."""
    outcome, local = await limited(docker_client, settings, tmp_path, "opencode", Limits(wall_seconds=150), "cut")
    assert (outcome.state, outcome.reason) == (State.FAILED, Reason.LOOP), outcome.error
    assert len(local.model.questions) <= 15


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude", "codex", "opencode", "pi"])
async def test_agent_and_wire_count_the_same(
    docker_client: docker.DockerClient, settings: Settings, tmp_path: Path, agent: AgentName
) -> None:
    outcome, _ = await limited(docker_client, settings, tmp_path, agent, Limits(wall_seconds=100), "ok")
    assert outcome.state is State.SUCCEEDED, outcome.error
    said, wire = outcome.usage, outcome.metered
    assert (said.input_tokens, said.output_tokens) == (wire.input_tokens, wire.output_tokens)
    assert (said.cached_input_tokens or 0) == (wire.cached_input_tokens or 0)
    assert not [note for note in outcome.notes if "tokens" in note]
