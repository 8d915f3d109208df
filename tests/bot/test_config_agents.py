"""Which agents and models are offered."""

from __future__ import annotations

import pytest

from bot.config import ConfigError, SandboxConfig, read

KEYS = {"GOFER_MODEL_KEY": "k", "GOFER_OPENAI_KEY": "k"}


def config(**values: str) -> SandboxConfig:
    return read(SandboxConfig, {f"GOFER_{name.upper()}": value for name, value in values.items()} | KEYS)


def test_claude_alone_with_its_own_model() -> None:
    found = config()
    assert dict(found.offered) == {"claude": ("claude-sonnet-4-5",)}
    assert (found.task_agent, found.task_model) == ("claude", "claude-sonnet-4-5")
    assert found.sandbox_settings().agent.model == "claude-sonnet-4-5"


def test_today_s_name_is_the_default_agent_s_model() -> None:
    assert config(model="m").offered["claude"] == ("m",)
    found = config(agents="codex claude", model="m", claude_models="c1, c2", codex_models="m, g2")
    assert dict(found.offered) == {"claude": ("c1", "c2"), "codex": ("m", "g2")}
    assert (found.task_agent, found.task_model) == ("codex", "m")


def test_the_default_agent_is_the_first_or_the_one_that_is_named() -> None:
    assert config(agents="pi,claude").default_agent == "pi"
    found = config(agents="pi,claude", agent="claude").sandbox_settings()
    assert found.default_agent == "claude"
    assert set(found.agents) == {"pi", "claude"}


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"agents": ""}, "GOFER_AGENTS: it is empty; name some of claude, codex, opencode, pi"),
        ({"agents": "claud"}, "GOFER_AGENTS: claud is no agent; nearest: claude"),
        ({"agents": "pi, pi"}, "GOFER_AGENTS: an agent is there twice"),
        ({"agent": "codec"}, "GOFER_AGENT: it is no agent; nearest: codex"),
        ({"agent": "codex"}, "GOFER_AGENT: codex is not in GOFER_AGENTS"),
        ({"claude_models": "a b a"}, "GOFER_CLAUDE_MODELS: a model is there twice"),
        ({"claude_models": "--flag"}, "GOFER_CLAUDE_MODELS: '--flag' is not the name of a model"),
    ],
)
def test_mistakes_are_told(values: dict[str, str], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**values)
    assert str(caught.value) == line
