"""What the operator decides about sandboxes. A value: ``bot.config`` is the only reader of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from sandbox.job import AgentName, Frozen, Limits, SandboxName, Setup

Api = Literal["anthropic-messages", "openai-responses", "openai-chat"]
"""What is spoken with a model: Anthropic's Messages, OpenAI's Responses, or OpenAI's Chat Completions."""


class Gateway(Frozen):
    """Where the model is. The key is set by the egress on this one destination; the sandbox holds a placeholder."""

    name: str = "anthropic"
    """For people: in errors and in `gofer doctor`."""
    apis: tuple[Api, ...] = ("anthropic-messages",)
    """All that this gateway speaks."""
    base_url: str = "https://api.anthropic.com"
    """https, unless ``private``. A path prefix is kept. As the provider's own clients take it: Anthropic's without
    ``/v1``, which is added; OpenAI's with it, where it has a path at all (without one ``/v1`` is added)."""
    key: SecretStr = SecretStr("")
    header: str = "x-api-key"
    """``authorization`` and ``cf-aig-authorization`` send ``Bearer KEY``; any other header carries the bare key."""
    oauth: bool = False
    """The key is an OAuth token (a Claude subscription's): sent as ``Authorization: Bearer`` whatever ``header`` says,
    and the agent's CLI is told that it uses one."""
    server_side: bool = False
    """Let the provider act by itself: web search and fetch, code execution, remote MCP servers, content by URL."""
    private: bool = False
    """The operator names this very upstream: it may be plain http and may resolve to a private address."""
    ca_pem: str = ""
    """Extra CA certificates for this upstream, PEM; empty for the public ones."""
    host_gateway: bool = False
    """Resolve ``host.docker.internal`` to the Docker host in the egress container (the demo needs it)."""


class GitHost(Frozen):
    """Where repositories are fetched from; one host, and of it one repository a task."""

    base_url: str = "https://github.com"
    private: bool = False
    ca_pem: str = ""


class Proxy(Frozen):
    """The operator's own HTTP proxy, through which the egress reaches whatever is not ``private``."""

    url: str
    """``http://HOST:PORT`` or ``https://HOST:PORT``; user and password apart."""
    user: str = ""
    password: SecretStr = SecretStr("")
    ca_pem: str = ""
    """CA certificates of a proxy that inspects TLS: trusted for every destination reached through it."""


class Destination(Frozen):
    """A host that agents may read from: GET and HEAD only, without a credential, https."""

    host: str
    port: int = Field(default=443, gt=0, lt=65536)
    grammar: Literal["plain", "npm", "go", "debian"] = "plain"
    """Which paths there may be: ``npm`` has ``%2f`` in the names of scoped packages, ``go`` writes ! and ``debian``
    + and ~ as an escape."""
    private: bool = False
    """May resolve to a private address."""
    ca_pem: str = ""


class AgentSettings(Frozen):
    """Passed to the agent's CLI as environment; shortened in tests so that failures end in seconds."""

    model: str = "claude-sonnet-4-5"
    """The default one."""
    models: tuple[str, ...] = ()
    """Others that a task may choose."""
    gateway: Gateway | None = None
    """Where this agent's models are; ``Settings.gateway`` when None."""
    max_retries: int = Field(default=4, ge=0)
    api_timeout_seconds: int = Field(default=300, gt=0)


class RunnerAccess(Frozen):
    """How this process reaches a runner elsewhere (`sandbox.client`)."""

    token: SecretStr
    ca_pem: str = ""
    """CA certificates that the runner's TLS is held against, PEM; empty for the public ones."""


class ApiSettings(Frozen):
    """How the runner's HTTP API is served (`sandbox.api`)."""

    listen: str = "127.0.0.1:8081"
    """``HOST:PORT``, an IPv6 address in brackets, or ``unix:///PATH``."""
    tokens_file: Path
    """Lines of ``NAME TOKEN``: who may call."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    """PEM files; both or none."""
    plain: bool = False
    """Plain http on an address that is not this machine's own loopback, said in so many words."""


class Settings(Frozen):
    """Everything that the sandbox half needs to know. No GitHub key is in it."""

    instance: SandboxName = "gofer"
    """Labels every container, volume and network, so that two instances share one engine without meeting."""
    state_dir: Path
    """Holds one folder a sandbox: job, base commit, kills intended, outcome. Survives restarts."""
    docker_host: str = "unix:///var/run/docker.sock"
    image_prefix: str = "gofer"
    """Images are found as ``PREFIX/base``, ``PREFIX/claude``, ``PREFIX/egress`` and used by ID; never pulled."""
    gateway: Gateway = Gateway()
    git_host: GitHost = GitHost()
    agent: AgentSettings = AgentSettings()
    agents: Mapping[AgentName, AgentSettings] = Field(default_factory=dict)
    """The agents that may be used, by name. Empty: claude alone, with ``agent``."""
    default_agent: AgentName = "claude"
    limits: Limits = Limits()
    proxy: Proxy | None = None
    allowed: tuple[Destination, ...] = ()
    """What agents and setup commands may read from beside the model. Empty: nothing."""
    setups: Mapping[str, Setup] = Field(default_factory=dict)
    """By OWNER/REPO in lower case: what makes its dependencies ready."""
    repository_images: Mapping[str, str] = Field(default_factory=dict)
    """By OWNER/REPO in lower case: an image built FROM ours that its tasks run in. ``{agent}`` in it is the agent."""
    mirror: bool = True
    """Keep a bare mirror of every fetched repository on the Docker host."""
    store_dir: Path | None = None
    """The Docker host's folder for workspaces and snapshots; a Docker volume when None."""
    retention_seconds: int = Field(default=7 * 86_400, gt=0)
    """A sandbox in which nothing has run for this long is removed."""
    runtime: str = ""
    """``runsc`` for gVisor. A runtime that the engine lacks is refused."""
    runner: RunnerAccess | None = None
    """For a sandbox that is another process's; nothing else here but ``limits`` counts then."""

    def for_agent(self, name: str) -> AgentSettings | None:
        """The settings of an agent; None where the operator does not offer it."""
        if not self.agents:
            return self.agent if name == "claude" else None
        return next((settings for agent, settings in self.agents.items() if agent == name), None)

    def gateway_for(self, name: str) -> Gateway:
        """Where the models of this agent are."""
        settings = self.for_agent(name)
        return self.gateway if settings is None or settings.gateway is None else settings.gateway
