"""The settings as values: what each is, its default, its meaning, and what they are together. Reads no environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from bot import config_checks as check
from sandbox import AgentSettings, Gateway, GitHost, Limits, Settings

# Docker's own name for the machine that it runs on: resolved in the egress container where a setting names it.
DOCKER_HOST_NAME = "host.docker.internal"

BaseUrl = Annotated[str, BeforeValidator(check.base_url)]
CaFile = Annotated[Path | None, BeforeValidator(lambda value: value or None)]
_limits = Limits()


class ConfigError(Exception):
    """The settings cannot be used; ``str()`` has one line a mistake, for the operator."""


class Places(BaseModel):
    """What every command needs."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    state_dir: Annotated[Path, BeforeValidator(check.not_empty)] = Field(
        default=Path("/var/lib/gofer"),
        description="where tasks and sandboxes are remembered; must be there "
        "(`gofer run` makes `~/.local/state/gofer` unless this is given)",
    )
    database_url: str = Field(
        default="", description="`sqlite:////PATH` or `postgresql://…`; `gofer.db` in the state directory if empty"
    )
    log_level: str = Field(
        default="INFO",
        pattern=r"^(DEBUG|INFO|WARNING|ERROR)$",
        examples=["DEBUG", "INFO", "WARNING", "ERROR"],
        description="how much is logged",
    )

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.state_dir.absolute() / 'gofer.db'}"


class SandboxConfig(Places):
    """What ``gofer run`` needs: sandboxes and the model, no GitHub App."""

    model_key: SecretStr = Field(
        default=SecretStr(""), description="the key for the model; only the egress container gets it"
    )
    model: str = Field(
        default=AgentSettings().model, min_length=1, description="the model that the agent is told to use"
    )
    model_url: BaseUrl = Field(default=Gateway().base_url, description="the model's base URL; a gateway's path is kept")
    model_header: str = Field(
        default=Gateway().header,
        pattern=r"^[A-Za-z][A-Za-z0-9-]*$",
        examples=["x-api-key", "authorization"],
        description="the header that carries the key; `authorization` sends `Bearer KEY`",
    )
    model_private: bool = Field(
        default=False, description="the model's address may be plain http and private (your own gateway)"
    )
    model_ca_file: CaFile = Field(default=None, description="extra CA certificates for the model's address, PEM")
    github_url: BaseUrl = Field(
        default="https://github.com", description="GitHub; the address of your server with GitHub Enterprise"
    )
    github_private: bool = Field(
        default=False, description="GitHub's address may be plain http and private (GitHub Enterprise)"
    )
    github_ca_file: CaFile = Field(default=None, description="extra CA certificates for GitHub's address, PEM")
    instance: str = Field(
        default="gofer",
        pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$",
        examples=["gofer", "gofer-2"],
        description="marks our containers and our place in the database; one for each server",
    )
    sandbox: str = Field(default="local:", description="where sandboxes run; `local:` is Docker on this machine")
    docker_host: Annotated[str, BeforeValidator(check.engine_address)] = Field(
        default="unix:///var/run/docker.sock", description="the Docker Engine for `local:`"
    )
    image_prefix: str = Field(default="gofer", description="images are `PREFIX/base`, `PREFIX/claude` and so on")
    runtime: str = Field(default="", description="container runtime, such as `runsc`; Docker's default if empty")
    wall_seconds: int = Field(
        default=_limits.wall_seconds, gt=0, description="a task's agent is stopped after this; its work is shown"
    )
    fetch_seconds: int = Field(
        default=_limits.fetch_seconds, gt=0, description="fetching the repository may take this long"
    )
    memory_bytes: int = Field(default=_limits.memory_bytes, ge=64 * 2**20, description="memory of one agent")
    cpus: float = Field(default=_limits.cpus, gt=0, description="CPUs of one agent")
    pids: int = Field(default=_limits.pids, gt=0, description="processes and threads of one agent")
    workspace_bytes: int = Field(
        default=_limits.workspace_bytes, ge=16 * 2**20, description="disk of one task, a hard cap"
    )
    workspace_inodes: int = Field(
        default=_limits.workspace_inodes, ge=1000, description="files of one task, a hard cap"
    )
    patch_bytes: int = Field(default=_limits.patch_bytes, gt=0, description="a larger patch is refused, in words")
    patch_files: int = Field(default=_limits.patch_files, gt=0, description="more changed files are refused")

    model_requests: int = Field(
        default=_limits.model_requests, gt=0, description="questions to the model in one task; the next one ends it"
    )
    tokens: int = Field(
        default=_limits.tokens, gt=0, description="tokens of one task, input (cached ones too) and output"
    )
    cost_usd: Annotated[float | None, BeforeValidator(lambda value: value or None)] = Field(
        default=None, gt=0, description="what one task may cost, in US dollars, by the price table; no bound if empty"
    )
    egress_bytes: int = Field(
        default=_limits.egress_bytes, gt=0, description="bytes of one task to and from the outside, both directions"
    )

    @model_validator(mode="after")
    def _together(self) -> Self:
        """What one value alone cannot tell."""
        if self.github_url.startswith("http:") and not self.github_private:
            raise ValueError("GOFER_GITHUB_URL is plain http: set GOFER_GITHUB_PRIVATE=true if that is meant")
        if self.model_url.startswith("http:") and not self.model_private:
            raise ValueError("GOFER_MODEL_URL is plain http: set GOFER_MODEL_PRIVATE=true if that is meant")
        if not self.model_private and not self.model_key.get_secret_value():
            raise ValueError("GOFER_MODEL_KEY (or GOFER_MODEL_KEY_FILE) is missing")
        return self

    @property
    def limits(self) -> Limits:
        return Limits(**{name: getattr(self, name) for name in Limits.model_fields})

    def sandbox_settings(self) -> Settings:
        """What the sandbox half is told: no GitHub secret is in it. Reads the CA files."""
        return Settings(
            instance=self.instance,
            state_dir=self.state_dir,
            docker_host=self.docker_host,
            image_prefix=self.image_prefix,
            gateway=Gateway(
                base_url=self.model_url,
                key=self.model_key,
                header=self.model_header,
                private=self.model_private,
                ca_pem=_pem("GOFER_MODEL_CA_FILE", self.model_ca_file),
                host_gateway=any(
                    urlsplit(url).hostname == DOCKER_HOST_NAME for url in (self.model_url, self.github_url)
                ),
            ),
            git_host=GitHost(
                base_url=self.github_url,
                private=self.github_private,
                ca_pem=_pem("GOFER_GITHUB_CA_FILE", self.github_ca_file),
            ),
            agent=AgentSettings(model=self.model),
            limits=self.limits,
            runtime=self.runtime,
        )


class Config(SandboxConfig):
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
    command_word: str = Field(
        default="/agent",
        pattern=r"^/[a-z][a-z0-9-]{0,31}$",
        examples=["/agent"],
        description="the word that starts a command",
    )
    max_running: int = Field(default=2, gt=0, description="tasks with a running sandbox at once")
    max_running_per_repository: int = Field(
        default=1, gt=0, description="the same, of one repository; of one thread it is always one"
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


def _pem(name: str, path: Path | None) -> str:
    """The certificates in ``path``, which the setting ``name`` gave. Raises ``ConfigError`` where there are none."""
    if path is None:
        return ""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{name}: {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{name}: {path} is no text") from None
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise ConfigError(f"{name}: there is no certificate in PEM in {path}")
    return text
