"""The gateways that are known by name, and which agent can use which. Pure.

A gateway is where models are: the provider itself, a gateway that a company runs before it, or anything that speaks
the same. What is different from one to the next is where it is, what it speaks and in which header the key goes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from pydantic import SecretStr

from sandbox.settings import Api, Gateway, Settings

ANTHROPIC: tuple[Api, ...] = ("anthropic-messages",)
OPENAI: tuple[Api, ...] = ("openai-responses", "openai-chat")
CLOUDFLARE_HOST = ".".join(("gateway", "ai", "cloudflare", "com"))
# What a Cloudflare account (32 hex) and the name of a gateway are made of; more could be another path.
_SEGMENT = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SPOKEN: dict[Api, str] = {
    "anthropic-messages": "Anthropic's Messages",
    "openai-responses": "OpenAI's Responses",
    "openai-chat": "OpenAI's Chat Completions",
}


class Speaks(Protocol):
    """The part of ``sandbox.agents.Agent`` that is looked at here."""

    @property
    def name(self) -> str: ...

    @property
    def apis(self) -> tuple[Api, ...]: ...


def anthropic(key: str, *, oauth: bool = False) -> Gateway:
    """The provider itself, with an API key or (``oauth``) a subscription's token."""
    return Gateway(name="anthropic", key=SecretStr(key), oauth=oauth)


def openai(key: str) -> Gateway:
    """The provider itself."""
    base_url = "https://" + ".".join(("api", "openai", "com"))
    return Gateway(name="openai", apis=OPENAI, base_url=base_url, key=SecretStr(key), header="authorization")


def cloudflare(account: str, gateway: str, token: str, *, provider: str = "anthropic") -> Gateway:
    """Cloudflare AI Gateway, with the provider's keys kept there and the gateway's own token sent.

    ``provider``: ``anthropic`` (claude, and opencode and pi where they speak Messages) or ``openai`` (codex, opencode,
    pi). The agents of this project speak a provider's own API to the egress, so both are below the gateway's bare
    path, and none of them needs a client for Cloudflare built in. Raises ``ValueError`` for an account or a gateway
    that is more than a name, or another provider.
    """
    if not _SEGMENT.fullmatch(account) or not _SEGMENT.fullmatch(gateway):
        raise ValueError("a Cloudflare account or gateway is letters, digits, - and _ only")
    if provider not in ("anthropic", "openai"):
        raise ValueError("the provider behind a Cloudflare gateway is anthropic or openai")
    return Gateway(
        name="cloudflare",
        apis=ANTHROPIC if provider == "anthropic" else OPENAI,
        base_url=f"https://{CLOUDFLARE_HOST}/v1/{account}/{gateway}/{provider}",
        key=SecretStr(token),
        header="cf-aig-authorization",
    )


def compatible(base_url: str, key: str, apis: tuple[Api, ...], *, header: str = "", ca_pem: str = "") -> Gateway:
    """Anything that speaks one of the APIs. Without ``header`` the key goes where its API's own clients put it."""
    usual = "x-api-key" if apis == ANTHROPIC else "authorization"
    return Gateway(
        name="compatible", apis=apis, base_url=base_url, key=SecretStr(key), header=header or usual, ca_pem=ca_pem
    )


def pairing(agent: Speaks, gateway: Gateway) -> Api:
    """What the two speak with each other: of what the gateway speaks, what the agent likes best.

    Raises ``ValueError`` with a sentence where they share nothing.
    """
    for api in agent.apis:
        if api in gateway.apis:
            return api
    able, asked = _spoken(agent.apis), _spoken(gateway.apis)
    raise ValueError(f"The agent {agent.name} speaks {able}, and the gateway {gateway.name} speaks {asked}")


def check(settings: Settings, agents: Mapping[str, Speaks]) -> None:
    """Raises ``ValueError`` with a sentence for the first agent that the operator offers and that cannot work."""
    for name, agent in agents.items():
        if settings.for_agent(name) is not None:
            pairing(agent, settings.gateway_for(name))


def _spoken(apis: tuple[Api, ...]) -> str:
    return " and ".join(_SPOKEN[api] for api in apis)
