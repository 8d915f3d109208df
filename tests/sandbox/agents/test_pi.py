from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.agents import Run
from sandbox.agents.pi import Pi
from sandbox.settings import AgentSettings, Api

PI = Pi()


def models(run: Run) -> dict[str, Any]:
    return dict(json.loads(PI.home(run)[".pi/agent/models.json"])["providers"])


def test_the_command_names_provider_and_model_and_trusts_nothing_of_the_repository() -> None:
    command = PI.command(Run("claude-sonnet-4-5"))
    assert command == [
        "/usr/local/bin/pi", "--print", "--mode", "json", "--no-session", "--no-approve",
        "--provider", "anthropic", "--model", "claude-sonnet-4-5",
    ]  # fmt: skip


@pytest.mark.parametrize("model", ["", "-x", "--approve", "a b", "a\n", "$(x)", "é", "x" * 201])
def test_what_could_be_anything_but_a_models_name_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a model"):
        PI.command(Run(model))


@pytest.mark.parametrize(
    ("api", "provider", "spoken", "url"),
    [
        ("anthropic-messages", "anthropic", "anthropic-messages", "http://127.0.0.1:9001"),
        ("openai-responses", "openai", "openai-responses", "http://127.0.0.1:9001/v1"),
        ("openai-chat", "gateway", "openai-completions", "http://127.0.0.1:9001/v1"),
    ],
)
def test_each_api_has_its_provider_and_the_model_is_asked_through_the_way_out(
    api: Api, provider: str, spoken: str, url: str
) -> None:
    run = Run("some/model-1", api)
    assert PI.command(run)[-3] == provider
    assert models(run)[provider] == {
        "baseUrl": url,
        "api": spoken,
        "apiKey": "placeholder",
        "models": [{"id": "some/model-1", "contextWindow": 200_000, "maxTokens": 32_000}],
    }


def test_a_model_that_the_cli_knows_keeps_what_the_cli_knows_of_it() -> None:
    assert "models" not in models(Run("claude-sonnet-4-5"))["anthropic"]
    assert "models" not in models(Run("gpt-5.5", "openai-responses"))["openai"]
    assert "models" in models(Run("claude-of-tomorrow"))["anthropic"]
    assert "models" in models(Run("gpt-5.5"))["anthropic"]
    assert "models" in models(Run("gpt-5.5", "openai-chat"))["gateway"]


def test_a_subscriptions_token_is_announced_by_a_placeholder_of_its_kind() -> None:
    assert models(Run("m", oauth=True))["anthropic"]["apiKey"] == "sk-ant-oat-placeholder"


def test_retries_and_timeouts_are_the_operators() -> None:
    files = PI.home(Run("m", settings=AgentSettings(max_retries=2, api_timeout_seconds=7)))
    settings = json.loads(files[".pi/agent/settings.json"])
    assert settings["retry"] == {"enabled": True, "maxRetries": 2}
    assert settings["httpIdleTimeoutMs"] == 7000
    assert settings["cacheWarming"] == "off"
    none = PI.home(Run("m", settings=AgentSettings(max_retries=0)))
    assert json.loads(none[".pi/agent/settings.json"])["retry"] == {"enabled": False, "maxRetries": 0}


def test_nothing_is_looked_up_and_nothing_reported() -> None:
    environment = PI.environment(Run("m"))
    assert environment["PI_OFFLINE"] == "1"
    assert environment["PI_TELEMETRY"] == "0"


@pytest.mark.parametrize("text", ["plain", "/help", "@README.md", "!ls", "-x", "ü\n\nzwei", "x" * 131_071])
def test_a_prompt_is_its_own_bytes(text: str) -> None:
    assert PI.prompt(text) == text.encode()


def test_what_no_encoder_takes_is_left_out_of_a_prompt() -> None:
    assert PI.prompt("a\0b\ud800") == "ab\ufffd".encode()
