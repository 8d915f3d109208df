"""Where the agents' models are: two gateways at the most, and which agent uses which. Reads no environment."""

from __future__ import annotations

from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr

from bot import config_checks as check
from bot.config_agents import AgentChoices, words_of
from bot.config_base import BaseUrl, ConfigError, OptionalPath, OptionalUrl, pem
from sandbox import AgentName, Api, Gateway, check_pairing, gateways

Preset = Literal["anthropic", "openai", "cloudflare", "compatible"]
Choice = Literal["", "model", "openai"]
Which = Literal["model", "openai"]

APIS: tuple[Api, ...] = get_args(Api)
PRESETS: tuple[Preset, ...] = get_args(Preset)
HEADER = r"^[A-Za-z][A-Za-z0-9-]*$"


def api_names(value: object) -> str:
    """Any number of the APIs that are known."""
    names = words_of(str(value))
    for name in names:
        if name not in APIS:
            raise ValueError(f"{name[:64]!r} is no API; known: {', '.join(APIS)}")
    return ", ".join(names)


def _one_of(known: tuple[str, ...]) -> BeforeValidator:
    def checked(value: object) -> object:
        if value not in known:
            raise ValueError(f"it must be one of {', '.join(filter(None, known))}")
        return value

    return BeforeValidator(checked)


Kind = Annotated[Preset, _one_of(PRESETS)]
Chosen = Annotated[Choice, _one_of(get_args(Choice))]
Apis = Annotated[str, BeforeValidator(api_names)]
Key = Annotated[SecretStr, BeforeValidator(check.header_value)]
_CHOICE = "`model` or `openai`: which of the two gateways {} uses; the first that it can use if empty"
_KIND = "{}: `anthropic`, `openai`, `cloudflare`, or `compatible` with an address of your own"
_APIS = "what it speaks, of " + ", ".join(f"`{api}`" for api in APIS) + "; needed with `compatible` alone"
_CLOUDFLARE = "`ACCOUNT/GATEWAY` of Cloudflare AI Gateway; its token is the key"
_PROVIDER = "the provider behind it: `anthropic` or `openai`"
_OAUTH = "the key is an OAuth token (a Claude subscription's)"
_SERVER = "let the provider act by itself: web search and fetch, code execution, remote MCP servers, content by URL"


class GatewaySettings(AgentChoices):
    """``model_…`` is the first gateway, the Anthropic API unless something else is said; ``openai_…`` the second."""

    model_key: Key = Field(
        default=SecretStr(""), description="the key for the model; only the egress container gets it"
    )
    model_gateway: Kind = Field(default="anthropic", description=_KIND.format("the gateway to the models"))
    model_url: BaseUrl = Field(default=Gateway().base_url, description="the model's base URL; a gateway's path is kept")
    model_header: str = Field(
        default=Gateway().header,
        pattern=HEADER,
        examples=["x-api-key", "authorization"],
        description="the header that carries the key; `authorization` sends `Bearer KEY`",
    )
    model_apis: Apis = Field(default="", description=_APIS)
    model_cloudflare: str = Field(default="", description=_CLOUDFLARE)
    model_provider: Annotated[str, _one_of(("anthropic", "openai"))] = Field(default="anthropic", description=_PROVIDER)
    model_oauth: bool = Field(default=False, description=_OAUTH)
    model_server_side: bool = Field(default=False, description=_SERVER)
    model_private: bool = Field(
        default=False, description="the model's address may be plain http and private (your own gateway)"
    )
    model_ca_file: OptionalPath = Field(default=None, description="extra CA certificates for the model's address, PEM")
    openai_key: Key = Field(
        default=SecretStr(""), description="the key for a second gateway, the OpenAI API unless something else is said"
    )
    openai_gateway: Kind = Field(default="openai", description=_KIND.format("the second gateway"))
    openai_url: OptionalUrl = Field(default="", description="its base URL; the provider's own if empty")
    openai_header: str = Field(
        default="authorization",
        pattern=HEADER,
        examples=["authorization", "api-key"],
        description="the header that carries its key; `authorization` sends `Bearer KEY`",
    )
    openai_apis: Apis = Field(default="", description=_APIS)
    openai_cloudflare: str = Field(default="", description=_CLOUDFLARE)
    openai_provider: Annotated[str, _one_of(("anthropic", "openai"))] = Field(default="openai", description=_PROVIDER)
    openai_oauth: bool = Field(default=False, description=_OAUTH)
    openai_server_side: bool = Field(default=False, description=_SERVER)
    openai_private: bool = Field(default=False, description="its address may be plain http and private")
    openai_ca_file: OptionalPath = Field(default=None, description="extra CA certificates for its address, PEM")
    claude_gateway: Chosen = Field(default="", description=_CHOICE.format("claude"))
    codex_gateway: Chosen = Field(default="", description=_CHOICE.format("codex"))
    opencode_gateway: Chosen = Field(default="", description=_CHOICE.format("opencode"))
    pi_gateway: Chosen = Field(default="", description=_CHOICE.format("pi"))

    def mistaken_gateways(self) -> list[str]:
        """What cannot work together, in words: a wrong pairing, a missing key, plain http that nobody meant."""
        found: list[str] = []
        for agent in self.offered:
            try:
                which = self.gateway_of(agent)
                check_pairing(agent, self.gateway(which))
            except (ValueError, ConfigError) as error:
                found.append(str(error))
            else:
                found += self._mistaken(which)
        return list(dict.fromkeys(found))

    def gateway_of(self, agent: AgentName) -> Which:
        """The gateway that an agent uses. Raises ``ValueError`` where none of them speaks what it does."""
        chosen: Choice = getattr(self, f"{agent}_gateway")
        if chosen:
            return chosen
        given: tuple[Which, ...] = ("model", "openai") if self._has_key("openai") else ("model",)
        fit = [which for which in given if self._fits(agent, which)]
        if not fit:
            first = self.gateway("model")
            try:
                check_pairing(agent, first)
            except ValueError as error:
                raise ValueError(f"{error}: give a second one with GOFER_OPENAI_KEY, or another first one") from None
        return next((which for which in fit if self._has_key(which)), fit[0])

    def gateway(self, which: Which, *, with_ca: bool = False) -> Gateway:
        """As the operator has it. Raises ``ValueError`` in words; ``with_ca`` reads the file, or ``ConfigError``."""
        found = self._preset(which)
        given = self.model_fields_set
        changes: dict[str, object] = {
            "private": self._of(which, "private"),
            "server_side": self._of(which, "server_side"),
            "oauth": self._of(which, "oauth"),
            "host_gateway": self.needs_host_name(),
        }
        if f"{which}_url" in given and self._of(which, "url"):
            changes["base_url"] = self._of(which, "url")
        if f"{which}_header" in given:
            changes["header"] = self._of(which, "header")
        if with_ca:
            changes["ca_pem"] = pem(f"GOFER_{which.upper()}_CA_FILE", getattr(self, f"{which}_ca_file"))
        return found.model_copy(update=changes)

    def needs_host_name(self) -> bool:
        """Whether Docker's own name for the machine is in one of the addresses."""
        return any(urlsplit(str(url)).hostname == check.DOCKER_HOST_NAME for url in (self.model_url, self.openai_url))

    def _preset(self, which: Which) -> Gateway:
        key = self._secret(which)
        match self._of(which, "gateway"):
            case "anthropic":
                return gateways.anthropic(key)
            case "openai":
                return gateways.openai(key)
            case "cloudflare":
                account, _, name = str(self._of(which, "cloudflare")).partition("/")
                try:
                    return gateways.cloudflare(account, name, key, provider=str(self._of(which, "provider")))
                except ValueError as error:
                    raise ValueError(f"GOFER_{which.upper()}_CLOUDFLARE must be ACCOUNT/GATEWAY: {error}") from None
        apis = tuple(api for api in APIS if api in words_of(str(self._of(which, "apis"))))
        if not apis or not self._of(which, "url") or f"{which}_url" not in self.model_fields_set:
            name = f"GOFER_{which.upper()}"
            raise ValueError(f"{name}_GATEWAY=compatible needs {name}_URL and {name}_APIS")
        return gateways.compatible(str(self._of(which, "url")), key, apis)

    def _fits(self, agent: AgentName, which: Which) -> bool:
        try:
            check_pairing(agent, self.gateway(which))
        except ValueError:
            return False
        return True

    def _mistaken(self, which: Which) -> list[str]:
        found, name = [], f"GOFER_{which.upper()}"
        if self.gateway(which).base_url.startswith("http:") and not self._of(which, "private"):
            found.append(f"{name}_URL is plain http: set {name}_PRIVATE=true if that is meant")
        if not self._has_key(which):
            found.append(f"{name}_KEY (or {name}_KEY_FILE) is missing")
        return found

    def _has_key(self, which: Which) -> bool:
        """A gateway of one's own may need none."""
        return bool(self._secret(which)) or bool(self._of(which, "private"))

    def _secret(self, which: Which) -> str:
        return (self.model_key if which == "model" else self.openai_key).get_secret_value()

    def _of(self, which: Which, what: str) -> object:
        return getattr(self, f"{which}_{what}")
