"""OpenCode's command line, configuration, HOME and prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.agents import AGENTS, Run
from sandbox.agents.opencode import VERSION
from sandbox.settings import AgentSettings, Api

OPENCODE = AGENTS["opencode"]


def configuration(run: Run) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(OPENCODE.environment(run)["OPENCODE_CONFIG_CONTENT"])
    return made


def test_the_command_holds_the_operators_model_and_nothing_of_a_user() -> None:
    command = OPENCODE.command(Run("claude-sonnet-4-5"))
    assert command[:2] == ["/usr/local/bin/opencode", "run"]
    assert command[-1] == "--model=anthropic/claude-sonnet-4-5"
    assert "--format=json" in command
    assert "--title=run" in command  # or it asks the model for one


@pytest.mark.parametrize("model", ["", "--help", "-p", "a b", "a\nb", "a;b", "$(id)", "ü", "x" * 201, "a'b", 'a"b'])
def test_a_model_name_that_could_be_anything_else_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a model"):
        OPENCODE.command(Run(model))


@pytest.mark.parametrize(
    ("api", "provider"),
    [("anthropic-messages", "anthropic"), ("openai-responses", "openai"), ("openai-chat", "gateway")],
)
def test_each_api_is_a_provider_with_the_model_declared(api: Api, provider: str) -> None:
    run = Run("vendor/some:model@1", api, settings=AgentSettings(api_timeout_seconds=7))
    assert OPENCODE.command(run)[-1] == f"--model={provider}/vendor/some:model@1"
    ((name, made),) = configuration(run)["provider"].items()
    assert name == provider
    assert list(made["models"]) == ["vendor/some:model@1"]
    assert made["options"] == {
        "baseURL": "http://127.0.0.1:9001/v1",
        "apiKey": "placeholder",
        "headerTimeout": 7000,
        "chunkTimeout": 7000,
    }


def test_every_api_that_it_offers_has_a_provider() -> None:
    for api in OPENCODE.apis:
        assert configuration(Run("m", api))["provider"]


def test_a_model_of_chat_completions_has_limits_for_nothing_else_knows_them() -> None:
    made = configuration(Run("m", "openai-chat"))["provider"]["gateway"]
    assert made["npm"] == "@ai-sdk/openai-compatible"  # built into the CLI
    assert set(made["models"]["m"]["limit"]) == {"context", "output"}


def test_what_the_repository_sets_and_what_fetches_is_off() -> None:
    environment = OPENCODE.environment(Run("m"))
    for needed in (
        "OPENCODE_DISABLE_PROJECT_CONFIG",
        "OPENCODE_PURE",
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
    ):
        assert environment[needed] == "1"
    assert environment["npm_config_fetch_retries"] == "0"
    made = configuration(Run("m"))
    assert (made["autoupdate"], made["share"], made["lsp"], made["formatter"]) == (False, "disabled", False, False)
    assert made["permission"] == {"*": "allow", "webfetch": "deny", "websearch": "deny"}
    assert made["instructions"] == ["/ws/repo/AGENTS.md", "/ws/repo/CLAUDE.md"]


def test_home_makes_it_believe_that_nothing_is_to_be_installed() -> None:
    home = OPENCODE.home(Run("m"))
    assert any(path.startswith(".config/opencode/node_modules/") for path in home)
    lock = json.loads(home[".config/opencode/package-lock.json"])
    assert lock["packages"][""]["dependencies"] == {"@opencode-ai/plugin": VERSION}


@pytest.mark.parametrize(
    ("text", "read_by_cli"),
    [
        ("Fix it.", b"Fix it."),
        ("/help", b"/help"),
        ("@README.md", b"@README.md"),
        ('-p say "x"', b'-p say "x"'),
        ("a\0b\ud800c", "ab\ufffdc".encode()),
        ("😊\r\nü", "😊\r\nü".encode()),
    ],
)
def test_a_prompt_reaches_the_model_as_it_was_written(text: str, read_by_cli: bytes) -> None:
    assert OPENCODE.prompt(text) == read_by_cli
