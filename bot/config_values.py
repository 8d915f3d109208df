"""The settings as values: what each is, its default, its meaning, and what they are together. Reads no environment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, model_validator

from bot import config_checks as check
from bot import config_repositories
from bot.config_agents import AgentChoices, words_of
from bot.config_base import BaseUrl, ConfigError, OptionalPath, OptionalUrl, Places, pem
from bot.config_conversation import ConversationSettings
from bot.config_gateways import GatewaySettings
from bot.repo_rules import OperatorRules
from sandbox import (
    AgentName,
    AgentSettings,
    ApiSettings,
    Destination,
    GitHost,
    Proxy,
    RunnerAccess,
    Settings,
    check_sandbox_url,
    presets,
)

__all__ = ["Config", "ConfigError", "Places", "RunnerConfig", "SandboxConfig"]

LOCAL = "local:"
# What a process keeps for itself although its sandboxes are elsewhere.
OWN = frozenset({*AgentChoices.model_fields, *Places.model_fields})


def sandbox_url(value: object) -> str:
    """One of the forms that the sandbox half knows."""
    text = str(value)
    check_sandbox_url(text)
    return text


class SandboxConfig(GatewaySettings):
    """What ``gofer run`` needs: sandboxes and the model, no GitHub App."""

    github_url: BaseUrl = Field(
        default="https://github.com", description="GitHub; the address of your server with GitHub Enterprise"
    )
    github_private: bool = Field(
        default=False, description="GitHub's address may be plain http and private (GitHub Enterprise)"
    )
    github_ca_file: OptionalPath = Field(default=None, description="extra CA certificates for GitHub's address, PEM")
    proxy_url: OptionalUrl = Field(
        default="", description="your own HTTP proxy, for all that is not said to be private; `http://HOST:PORT`"
    )
    proxy_user: str = Field(default="", description="its user, where it asks for one")
    proxy_password: SecretStr = Field(default=SecretStr(""), description="its password")
    proxy_ca_file: OptionalPath = Field(
        default=None, description="CA certificates of a proxy that inspects TLS, PEM; trusted for all that it carries"
    )
    instance: str = Field(
        default="gofer",
        pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$",
        examples=["gofer", "gofer-2"],
        description="marks our containers and our place in the database; one for each server",
    )
    sandbox: Annotated[str, BeforeValidator(sandbox_url)] = Field(
        default=LOCAL,
        description="where sandboxes run; `local:` is Docker on this machine, `http+unix:///PATH` and `https://HOST` "
        "are a `gofer runner`",
    )
    runner_token: SecretStr = Field(default=SecretStr(""), description="our token, where GOFER_SANDBOX is a runner")
    runner_ca_file: OptionalPath = Field(
        default=None, description="the CA certificates of that runner's TLS, PEM; the public ones if empty"
    )
    docker_host: Annotated[str, BeforeValidator(check.engine_address)] = Field(
        default="unix:///var/run/docker.sock", description="the Docker Engine for `local:`"
    )
    image_prefix: str = Field(default="gofer", description="images are `PREFIX/base`, `PREFIX/claude` and so on")
    runtime: str = Field(default="", description="container runtime, such as `runsc`; Docker's default if empty")
    allowed: str = Field(
        default="",
        description="what agents and setup commands may read beside the model, separated by commas: presets "
        f"({', '.join(presets.PRESETS)}) and exact hosts, `HOST` or `HOST:PORT`; nothing if empty",
    )
    allowed_private: str = Field(default="", description="those of GOFER_ALLOWED that may have private addresses")
    allowed_ca_file: OptionalPath = Field(default=None, description="extra CA certificates for those, PEM")
    repositories_file: OptionalPath = Field(
        default=None, description="a TOML file of what holds for single repositories: image and setup commands"
    )
    mirror: bool = Field(
        default=True, description="keep a mirror of every fetched repository, so that the next fetch is short"
    )
    store_dir: OptionalPath = Field(
        default=None,
        description="the Docker host's folder for workspaces and snapshots; a Docker volume if empty",
    )
    retention_seconds: int = Field(
        default=7 * 86_400, gt=0, description="a sandbox in which nothing has run for so long is removed"
    )

    @model_validator(mode="after")
    def _together(self) -> Self:
        """What one value alone cannot tell."""
        if found := list(self._mistakes()):
            raise ValueError("\n".join(found))
        return self

    def _mistakes(self) -> Iterable[str]:
        if self.github_url.startswith("http:") and not self.github_private:
            yield "GOFER_GITHUB_URL is plain http: set GOFER_GITHUB_PRIVATE=true if that is meant"
        yield from self.mistaken_choices()
        if self.is_remote:
            yield from self._mistaken_remote()
            return
        if self.runner_token.get_secret_value():
            yield "GOFER_RUNNER_TOKEN is for a runner elsewhere: give its address in GOFER_SANDBOX, or leave it out"
        yield from self.mistaken_gateways()
        try:
            self._allowed("")
        except ValueError as error:
            yield f"GOFER_ALLOWED: {error}"
        if self.store_dir is not None and not self.store_dir.is_absolute():
            yield "GOFER_STORE_DIR: it must be an absolute path"

    def _mistaken_remote(self) -> Iterable[str]:
        if not self.runner_token.get_secret_value():
            yield "GOFER_RUNNER_TOKEN (or GOFER_RUNNER_TOKEN_FILE) is missing: the runner at GOFER_SANDBOX asks for one"
        for name in sorted(self.model_fields_set & LOCAL_ONLY):
            yield f"GOFER_{name.upper()} is the runner's to know: leave it out here, where GOFER_SANDBOX is a runner"

    @property
    def is_remote(self) -> bool:
        """Whether sandboxes are another process's."""
        return self.sandbox != LOCAL

    @property
    def task_agent(self) -> AgentName | None:
        """For a job that names none; None: the runner's own default."""
        return None if self.is_remote and not self.model_fields_set & {"agent", "agents"} else self.default_agent

    @property
    def task_model(self) -> str | None:
        """As ``task_agent``."""
        return self.model if self.is_remote else self.offered[self.default_agent][0]

    def proxy(self) -> Proxy | None:
        """The operator's own. Reads its CA file."""
        if not self.proxy_url:
            return None
        return Proxy(
            url=self.proxy_url,
            user=self.proxy_user,
            password=self.proxy_password,
            ca_pem=pem("GOFER_PROXY_CA_FILE", self.proxy_ca_file),
        )

    def git_host(self) -> GitHost:
        """Reads its CA file."""
        ca_pem = pem("GOFER_GITHUB_CA_FILE", self.github_ca_file)
        return GitHost(base_url=self.github_url, private=self.github_private, ca_pem=ca_pem)

    def needs_host_name(self) -> bool:
        return super().needs_host_name() or urlsplit(self.github_url).hostname == check.DOCKER_HOST_NAME

    def sandbox_settings(self) -> Settings:
        """What the sandbox half is told: no GitHub secret is in it. Reads the files that are named."""
        if self.is_remote:
            return self._remote_settings()
        repositories = config_repositories.read(self.repositories_file)
        agents = self._agent_settings()
        return Settings(
            instance=self.instance,
            state_dir=self.state_dir,
            docker_host=self.docker_host,
            image_prefix=self.image_prefix,
            gateway=self.gateway("model", with_ca=True),
            git_host=self.git_host(),
            agent=agents.get("claude", AgentSettings()),
            agents=agents,
            default_agent=self.default_agent,
            limits=self.limits,
            proxy=self.proxy(),
            allowed=self._allowed(pem("GOFER_ALLOWED_CA_FILE", self.allowed_ca_file)),
            setups=repositories.setups,
            repository_images=repositories.images,
            mirror=self.mirror,
            store_dir=self.store_dir,
            retention_seconds=self.retention_seconds,
            runtime=self.runtime,
        )

    def _remote_settings(self) -> Settings:
        access = RunnerAccess(token=self.runner_token, ca_pem=pem("GOFER_RUNNER_CA_FILE", self.runner_ca_file))
        return Settings(
            instance=self.instance,
            state_dir=self.state_dir,
            git_host=self.git_host(),
            limits=self.limits,
            proxy=self.proxy(),
            runner=access,
        )

    def _agent_settings(self) -> dict[AgentName, AgentSettings]:
        second = self.gateway("openai", with_ca=True) if "openai" in map(self.gateway_of, self.offered) else None
        return {
            name: AgentSettings(
                model=models[0],
                models=models[1:],
                gateway=second if self.gateway_of(name) == "openai" else None,
            )
            for name, models in self.offered.items()
        }

    def _allowed(self, ca_pem: str) -> tuple[Destination, ...]:
        return presets.parse(self.allowed, private=words_of(self.allowed_private), ca_pem=ca_pem)


LOCAL_ONLY = frozenset(SandboxConfig.model_fields) - OWN - {
    "github_url", "github_private", "github_ca_file", "instance", "sandbox", "runner_token", "runner_ca_file",
    "proxy_url", "proxy_user", "proxy_password", "proxy_ca_file",
}  # fmt: skip
"""Settings that a process whose sandboxes are a runner's must not be given: the model's key first of all."""


class RunnerConfig(SandboxConfig):
    """What ``gofer runner`` needs: the engine and the model, no GitHub App."""

    runner_listen: Annotated[str, BeforeValidator(check.runner_address)] = Field(
        default="127.0.0.1:8081", description="where `gofer runner` listens: `HOST:PORT`, or `unix:///PATH`"
    )
    runner_tokens_file: Annotated[Path, BeforeValidator(check.not_empty)] = Field(
        description="who may call `gofer runner`: a file with a line `NAME TOKEN` for each, tokens of 32 characters "
        "or more (must be given for it alone)"
    )
    runner_tls_certificate_file: OptionalPath = Field(
        default=None, description="its TLS certificate with the chain, PEM; needed beyond this machine"
    )
    runner_tls_key_file: OptionalPath = Field(default=None, description="the key of that certificate, PEM")
    runner_plain: bool = Field(
        default=False, description="let `gofer runner` listen beyond this machine without TLS (a tunnel of your own)"
    )

    def _mistakes(self) -> Iterable[str]:
        if self.is_remote:
            yield "GOFER_SANDBOX is for those who use a runner: leave it out for the runner itself"
            return
        yield from super()._mistakes()

    def api_settings(self) -> ApiSettings:
        """How the API is served."""
        return ApiSettings(
            listen=self.runner_listen,
            tokens_file=self.runner_tokens_file,
            tls_certificate=self.runner_tls_certificate_file,
            tls_key=self.runner_tls_key_file,
            plain=self.runner_plain,
        )


class Config(SandboxConfig, ConversationSettings):
    """Everything that ``gofer serve`` was told. Fields without a default must be given."""

    app_id: str = Field(
        pattern=r"^[A-Za-z0-9.]+$",
        examples=["123456", "Iv23liAbCdEfGhIjKlMn"],
        description="the GitHub App's id or client id",
    )
    private_key: Annotated[SecretStr, BeforeValidator(check.pem_key)] = Field(description="the App's private key, PEM")
    webhook_secret: Annotated[SecretStr, BeforeValidator(check.webhook_secret)] = Field(
        description="the App's webhook secret; 32 characters or more, not guessable"
    )
    served: Annotated[str, BeforeValidator(check.served_list)] = Field(
        description="who is served: owners and owner/repository names, separated by commas; nobody else ever is"
    )
    github_api_url: str = Field(default="", description="GitHub's API; found from GOFER_GITHUB_URL unless given")
    listen: Annotated[str, BeforeValidator(check.listen_address)] = Field(
        default="127.0.0.1:8080", description="address and port for GitHub's webhooks; put TLS in front of it"
    )
    broader_app: bool = Field(
        default=False, description="let the App have permissions that Gofer never uses (another program needs them)"
    )
    command_word: str = Field(
        default="/agent",
        pattern=r"^/[a-z][a-z0-9-]{0,31}$",
        examples=["/agent"],
        description="the word that starts a command",
    )

    @property
    def operator_rules(self) -> OperatorRules:
        """What every repository may have; each narrows it by a file of its own."""
        return OperatorRules(
            agents=self.offered,
            default_agent=self.default_agent,
            destinations=words_of(self.allowed),
            limits=self.limits,
            rounds=self.review_rounds,
            repository_setup=self.repository_setup,
        )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def api_url(self) -> str:
        """GitHub.com and its tenants with data residency have a host for the API; a server has a path."""
        if self.github_api_url:
            return self.github_api_url.rstrip("/")
        scheme, _, host = self.github_url.partition("://")
        if host == "github.com" or host.endswith(".ghe.com"):
            return f"{scheme}://api.{host}"
        return f"{self.github_url}/api/v3"
