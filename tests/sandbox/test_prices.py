"""The price table: which names are known, and what an estimate is made of."""

from __future__ import annotations

import pytest

from sandbox.agents import AGENTS
from sandbox.job import Usage
from sandbox.prices import estimated, price


@pytest.mark.parametrize(
    ("model", "given", "output"),
    [
        ("claude-sonnet-4-5", 3, 15),
        ("claude-sonnet-4-5-20250929", 3, 15),
        ("anthropic/claude-opus-4-5", 5, 25),
        ("claude-opus-4-1-20250805", 15, 75),
        ("gpt-5", 1.25, 10),
        ("openai/gpt-5-mini", 0.25, 2),
        ("gpt-5-codex", 1.25, 10),
        ("gpt-5.1-codex-max", 1.25, 10),
        ("gpt-4.1-2025-04-14", 2, 8),
        ("gpt-5.5", 5, 30),
        ("gpt-5.6-luna", 0.2, 1.2),
        ("claude-opus-5-5", 4, 20),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3, 15),
    ],
)
def test_a_model_is_known_by_its_name(model: str, given: float, output: float) -> None:
    found = price(model)
    assert found is not None
    assert (found.input, found.output) == (given, output)


@pytest.mark.parametrize(
    "model",
    [
        "",
        "mystery-1",
        "gpt-5-ultra",
        "claude-sonnet-4-turbo",
        "my-gpt-5",
        "gpt-50",
        "gpt-5.5-pro",
        "gpt-5.5-fast",
        "claude-opus-5-9",
    ],
)
def test_a_name_that_only_begins_like_one_is_not_known(model: str) -> None:
    assert price(model) is None


def test_an_estimate_is_marked_and_replaces_nothing_that_was_said() -> None:
    used = Usage(input_tokens=1_000_000, cached_input_tokens=1_000_000, output_tokens=100_000)
    assert estimated(used, "claude-sonnet-4-5") == used.model_copy(update={"cost_usd": 4.8, "cost_is_estimate": True})
    said = used.model_copy(update={"cost_usd": 1.0})
    assert estimated(said, "claude-sonnet-4-5") == said
    assert estimated(used, "mystery-1") == used
    assert estimated(Usage(output_tokens=1), "gpt-5") == Usage(output_tokens=1), "unknown is not zero"


def test_the_default_model_of_every_agent_has_a_price() -> None:
    """Otherwise a bound on cost could not be set without choosing a model."""
    assert all(price(agent.default_model) for agent in AGENTS.values())
