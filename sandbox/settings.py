"""What the operator decides about sandboxes. A value: ``bot.config`` is the only reader of the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr

from sandbox.job import Frozen, Limits, SandboxName


class Gateway(Frozen):
    """Where the model is. The key is set by the egress on this one destination; the sandbox holds a placeholder."""

    base_url: str = "https://api.anthropic.com"
    """https, unless ``private``. A path prefix is kept."""
    key: SecretStr = SecretStr("")
    header: str = "x-api-key"
    """``authorization`` sends ``Bearer KEY``; any other header carries the bare key."""
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


class AgentSettings(Frozen):
    """Passed to the agent's CLI as environment; shortened in tests so that failures end in seconds."""

    model: str = "claude-sonnet-4-5"
    max_retries: int = Field(default=4, ge=0)
    api_timeout_seconds: int = Field(default=300, gt=0)


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
    limits: Limits = Limits()
    runtime: str = ""
    """``runsc`` for gVisor. A runtime that the engine lacks is refused."""
