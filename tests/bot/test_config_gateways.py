"""Which gateway serves which agent, and what is refused at the start, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import ConfigError, SandboxConfig, read
from sandbox import AgentName, Gateway, Settings

KEYS = {"GOFER_MODEL_KEY": "sk-first", "GOFER_OPENAI_KEY": "sk-second"}
ALL = "claude, codex, opencode, pi"


def config(**values: str) -> SandboxConfig:
    return read(SandboxConfig, {f"GOFER_{name.upper()}": value for name, value in values.items()} | KEYS)


def settings(**values: str) -> Settings:
    return config(**values).sandbox_settings()


def mistakes(keys: dict[str, str] = KEYS, /, **values: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(SandboxConfig, {f"GOFER_{name.upper()}": value for name, value in values.items()} | keys)
    assert "sk-" not in str(caught.value)
    return str(caught.value).splitlines()


def gateway(agent: AgentName, **values: str) -> Gateway:
    return settings(agents=ALL, **values).gateway_for(agent)


def test_each_agent_gets_the_first_gateway_that_it_can_use() -> None:
    assert {name: gateway(name).name for name in ("claude", "codex", "opencode", "pi")} == {
        "claude": "anthropic",
        "codex": "openai",
        "opencode": "anthropic",
        "pi": "anthropic",
    }
    assert gateway("codex").key.get_secret_value() == "sk-second"
    assert gateway("pi", pi_gateway="openai").name == "openai"


def test_without_a_key_for_the_first_the_second_is_taken() -> None:
    found = read(SandboxConfig, {"GOFER_AGENTS": "pi", "GOFER_OPENAI_KEY": "sk-second"}).sandbox_settings()
    assert found.gateway_for("pi").name == "openai"


def test_a_wrong_pairing_is_refused() -> None:
    (line,) = mistakes({"GOFER_MODEL_KEY": "sk-first"}, agents="claude, codex")
    assert "codex speaks OpenAI's Responses" in line
    assert "GOFER_OPENAI_KEY" in line
    (line,) = mistakes(agents="claude", claude_gateway="openai")
    assert "claude speaks Anthropic's Messages" in line


def test_a_missing_key_is_told_by_its_name() -> None:
    assert mistakes({}) == ["GOFER_MODEL_KEY (or GOFER_MODEL_KEY_FILE) is missing"]
    assert mistakes({}, agents="codex", codex_gateway="openai") == [
        "GOFER_OPENAI_KEY (or GOFER_OPENAI_KEY_FILE) is missing"
    ]


def test_cloudflare() -> None:
    found = gateway("claude", model_gateway="cloudflare", model_cloudflare="0a1b/mine")
    assert found.base_url.endswith("/v1/0a1b/mine/anthropic")
    assert found.header == "cf-aig-authorization"
    second = gateway("codex", openai_gateway="cloudflare", openai_cloudflare="0a1b/mine")
    assert second.base_url.endswith("/v1/0a1b/mine/openai")
    (line,) = mistakes(model_gateway="cloudflare", model_cloudflare="0a1b")
    assert line.startswith("GOFER_MODEL_CLOUDFLARE must be ACCOUNT/GATEWAY")


def test_an_address_of_one_s_own() -> None:
    found = gateway(
        "codex",
        openai_gateway="compatible",
        openai_url="https://llm.test/team",
        openai_apis="openai-responses",
        openai_header="api-key",
    )
    assert (found.base_url, found.apis, found.header) == ("https://llm.test/team", ("openai-responses",), "api-key")
    assert not found.private
    (line,) = mistakes(model_gateway="compatible")
    assert line == "GOFER_MODEL_GATEWAY=compatible needs GOFER_MODEL_URL and GOFER_MODEL_APIS"


def test_what_is_said_of_a_gateway_reaches_it(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    found = gateway(
        "claude",
        model_oauth="true",
        model_server_side="true",
        model_private="true",
        model_url="http://10.0.0.5:4000/x",
        model_ca_file=str(tmp_path / "ca.pem"),
    )
    assert (found.oauth, found.server_side, found.private) == (True, True, True)
    assert found.base_url == "http://10.0.0.5:4000/x"
    assert found.ca_pem.startswith("-----BEGIN")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"model_gateway": "bedrock"}, "must be one of anthropic, openai, cloudflare, compatible"),
        ({"model_apis": "rest"}, "'rest' is no API; known: anthropic-messages"),
        ({"codex_gateway": "third"}, "must be one of model, openai"),
        ({"openai_header": "bad header"}, "must look like authorization or api-key"),
        ({"model_url": "http://10.0.0.5"}, "GOFER_MODEL_URL is plain http: set GOFER_MODEL_PRIVATE=true"),
    ],
)
def test_values_that_do_not_fit(values: dict[str, str], words: str) -> None:
    (line,) = mistakes(**values)
    assert words in line


def test_a_key_that_no_header_can_carry_is_refused_and_not_told() -> None:
    for mark in (" ", "\n", "\t", "\x7f", "ü"):
        (line,) = mistakes({"GOFER_MODEL_KEY": f"sk-first{mark}half"}, agents="claude")
        assert line.startswith("GOFER_MODEL_KEY")
        assert "copy it again" in line
    found = read(SandboxConfig, {"GOFER_MODEL_KEY": "sk-first\r\n"}).sandbox_settings()
    assert found.gateway_for("claude").key.get_secret_value() == "sk-first"
