"""A caller chooses among what is offered, and lowers what is bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import AgentSettings, Job, Limits, Settings
from sandbox.api.asked import Refused
from sandbox.api.choices import bounded, task_job

ONE = Settings(state_dir=Path("/x"))
TWO = Settings(
    state_dir=Path("/x"),
    agents={"claude": AgentSettings(model="c1", models=("c2",)), "codex": AgentSettings(model="g1")},
    default_agent="codex",
    limits=Limits(wall_seconds=100, cost_usd=2.0),
)


def test_without_a_choice_it_is_the_operators() -> None:
    job = task_job("x", "do", {}, TWO)
    assert (job.agent, job.model, job.source, job.limits) == ("codex", None, None, TWO.limits)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"agent": "pi"}, "'pi' is not offered here; offered: claude, codex"),
        ({"model": "c1"}, "'c1' is not offered for codex; offered: g1"),
        ({"agent": "claude", "model": "c3"}, "offered: c1, c2"),
        ({"wall_seconds": "101"}, "wall_seconds may be 100 at most; 101 was asked for"),
        ({"cost_usd": "2.5"}, "cost_usd may be 2.0 at most"),
        ({"cost_usd": "nan"}, "cost_usd must be a number greater than 0"),
        ({"cost_usd": "inf"}, "cost_usd must be a number greater than 0"),
        ({"wall_seconds": "0"}, "wall_seconds must be a whole number greater than 0"),
        ({"wall_seconds": "-1"}, "whole number greater than 0"),
        ({"wall_seconds": "soon"}, "whole number greater than 0"),
        ({"tokens": "1.5"}, "tokens must be a whole number"),
    ],
)
def test_what_is_not_offered_is_refused_in_words(query: dict[str, str], words: str) -> None:
    with pytest.raises(Refused, match=words) as caught:
        task_job("x", "do", query, TWO)
    assert caught.value.status == 400


def test_lower_bounds_and_models_of_the_list_are_taken() -> None:
    query = {"agent": "claude", "model": "c2", "wall_seconds": "10", "cost_usd": "0.5"}
    job = task_job("x", "do", query, TWO)
    assert (job.agent, job.model) == ("claude", "c2")
    assert (job.limits.wall_seconds, job.limits.cost_usd) == (10, 0.5)
    assert job.limits.tokens == TWO.limits.tokens


def test_without_agents_only_claude_is_offered() -> None:
    with pytest.raises(Refused, match="offered: claude"):
        task_job("x", "do", {"agent": "codex"}, ONE)


def test_a_jobs_own_limits_count_as_far_as_they_are_lower() -> None:
    job = Job(name="x", prompt="do", source=None, limits=Limits(wall_seconds=50, cost_usd=9.0, tokens=10**12))
    got = bounded(job, TWO)
    assert got.limits == TWO.limits.model_copy(update={"wall_seconds": 50})
    assert got.agent == "codex", "what it leaves out is as the operator has it"
    assert bounded(job.model_copy(update={"limits": Limits()}), TWO).limits == TWO.limits


def test_a_job_for_an_agent_that_is_not_offered_is_refused() -> None:
    with pytest.raises(Refused, match="offered: claude, codex"):
        bounded(Job(name="x", agent="pi", prompt="do", source=None), TWO)


def test_an_agent_without_a_model_of_the_operators_has_its_own() -> None:
    settings = ONE.model_copy(update={"agents": {"claude": AgentSettings(model="")}})
    assert task_job("x", "do", {"model": "claude-sonnet-4-5"}, settings).model == "claude-sonnet-4-5"
    with pytest.raises(Refused, match="offered: claude-sonnet-4-5"):
        task_job("x", "do", {"model": "gpt"}, settings)
