"""What the operator offers, and what he does not, in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox import AgentSettings, Gateway, Job, PrepareFailed, Settings
from sandbox.agents import AGENTS
from sandbox.task import task_of

OPENAI = Gateway(name="openai", apis=("openai-responses", "openai-chat"), base_url="https://model.example")
CLAUDE = AgentSettings(model="sonnet", models=("opus",))


def context(**changes: Any) -> Any:
    images = SimpleNamespace(agents={name: f"image of {name}" for name in AGENTS})
    return SimpleNamespace(settings=Settings(state_dir=Path("/x"), **changes), agents=AGENTS, images=images)


def job(**changes: Any) -> Job:
    return Job(name="t", prompt="x", source=None, **changes)


@pytest.mark.parametrize(("model", "wanted"), [(None, "sonnet"), ("sonnet", "sonnet"), ("opus", "opus")])
def test_a_task_runs_one_of_the_models_that_are_offered(model: str | None, wanted: str) -> None:
    run = task_of(context(agent=CLAUDE), job(model=model)).run
    assert (run.model, run.api, run.settings) == (wanted, "anthropic-messages", CLAUDE)


@pytest.mark.parametrize(
    ("changes", "wanted", "words"),
    [
        ({"agent": CLAUDE}, {"model": "haiku"}, "'haiku' is not offered for claude: sonnet, opus"),
        ({}, {"agent": "codex"}, "codex is not offered"),
        ({"agents": {"codex": AgentSettings()}}, {"agent": "claude"}, "claude is not offered"),
        ({"agents": {"claude": CLAUDE}, "gateway": OPENAI}, {}, "claude speaks .* gateway openai speaks"),
    ],
)
def test_what_is_not_offered_is_refused_in_words(
    changes: Mapping[str, Any], wanted: Mapping[str, Any], words: str
) -> None:
    with pytest.raises(PrepareFailed, match=words):
        task_of(context(**changes), job(**wanted))
