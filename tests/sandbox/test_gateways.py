"""Gateways by name, and wrong pairings refused in words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox import AgentSettings, Api, Gateway, Settings
from sandbox.agents import AGENTS
from sandbox.gateways import CLOUDFLARE_HOST, anthropic, check, cloudflare, compatible, openai, pairing

TOKEN = "CANARY-token"


@dataclass(frozen=True)
class Agent:
    name: str
    apis: tuple[Api, ...]


CLAUDE = Agent("claude", ("anthropic-messages",))
CODEX = Agent("codex", ("openai-responses",))
BOTH = Agent("opencode", ("anthropic-messages", "openai-responses", "openai-chat"))
CHAT = compatible("https://llm.example/v1", TOKEN, ("openai-chat",))


@pytest.mark.parametrize(
    ("gateway", "base_url", "header"),
    [
        (anthropic(TOKEN), "https://api.anthropic.com", "x-api-key"),
        (openai(TOKEN), "https://api.openai.com", "authorization"),
        (cloudflare("acc", "gw", TOKEN), f"https://{CLOUDFLARE_HOST}/v1/acc/gw/anthropic", "cf-aig-authorization"),
        (
            cloudflare("acc", "gw", TOKEN, provider="openai"),
            f"https://{CLOUDFLARE_HOST}/v1/acc/gw/openai",
            "cf-aig-authorization",
        ),
        (CHAT, "https://llm.example/v1", "authorization"),
        (compatible("https://llm.example", TOKEN, ("anthropic-messages",)), "https://llm.example", "x-api-key"),
        (
            compatible("https://llm.example", TOKEN, ("openai-chat",), header="api-key"),
            "https://llm.example",
            "api-key",
        ),
    ],
)
def test_each_gateway_is_where_it_is_and_takes_its_key_where_it_does(
    gateway: Gateway, base_url: str, header: str
) -> None:
    assert (gateway.base_url, gateway.header) == (base_url, header)
    assert gateway.key.get_secret_value() == TOKEN
    assert TOKEN not in repr(gateway)


@pytest.mark.parametrize("bad", ["", "a/b", "..", "a?b", "a%2fb", "a b", "x" * 65])
def test_a_cloudflare_account_that_could_be_another_path_is_none(bad: str) -> None:
    for account, gateway in ((bad, "gw"), ("acc", bad)):
        with pytest.raises(ValueError, match="letters, digits"):
            cloudflare(account, gateway, TOKEN)
    with pytest.raises(ValueError, match="anthropic or openai"):
        cloudflare("acc", "gw", TOKEN, provider=bad)


def test_agent_and_gateway_speak_what_the_agent_likes_best() -> None:
    assert pairing(CLAUDE, anthropic("")) == "anthropic-messages"
    assert pairing(CODEX, openai("")) == "openai-responses"
    assert pairing(BOTH, anthropic("")) == "anthropic-messages"
    assert pairing(BOTH, openai("")) == "openai-responses"
    assert pairing(BOTH, CHAT) == "openai-chat"


@pytest.mark.parametrize(
    ("agent", "gateway", "words"),
    [
        (
            CLAUDE,
            openai(""),
            "claude speaks Anthropic's Messages, and the gateway openai speaks OpenAI's Responses and",
        ),
        (
            CODEX,
            anthropic(""),
            "codex speaks OpenAI's Responses, and the gateway anthropic speaks Anthropic's Messages",
        ),
        (CODEX, CHAT, "the gateway compatible speaks OpenAI's Chat Completions"),
    ],
)
def test_a_wrong_pairing_is_refused_in_words(agent: Agent, gateway: Gateway, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pairing(agent, gateway)


def test_only_agents_that_are_offered_must_fit(tmp_path: Path) -> None:
    agents = {"claude": CLAUDE, "codex": CODEX}
    check(Settings(state_dir=tmp_path), agents)
    both = Settings(state_dir=tmp_path, agents={"claude": AgentSettings(), "codex": AgentSettings()})
    with pytest.raises(ValueError, match="codex speaks"):
        check(both, agents)
    own = AgentSettings(gateway=openai(TOKEN))
    check(Settings(state_dir=tmp_path, agents={"claude": AgentSettings(), "codex": own}), agents)


def test_every_real_agent_fits_a_provider() -> None:
    for agent in AGENTS.values():
        assert any(set(agent.apis) & set(gateway.apis) for gateway in (anthropic(""), openai("")))
