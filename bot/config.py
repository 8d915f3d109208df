"""What the operator decides. The only reader of the environment.

Each field of ``Config`` is one variable: ``GOFER_`` and the field's name in capitals. A secret may come from a file
instead (``GOFER_PRIVATE_KEY_FILE``). Strict: a name that is not known, a value that does not fit, a secret that is a
placeholder are errors in words, all told at once, and never with a secret's value in them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_core import ErrorDetails

from bot import config_checks as check
from sandbox import AgentSettings, Gateway, GitHost, Limits, Settings

PREFIX = "GOFER_"
FILE_SUFFIX = "_FILE"
# Docker's own name for the machine that it runs on: resolved in the egress container where a setting names it.
DOCKER_HOST_NAME = "host.docker.internal"

BaseUrl = Annotated[str, BeforeValidator(check.base_url)]
Kind = TypeVar("Kind", bound="Places")
_limits = Limits()


class ConfigError(Exception):
    """The settings cannot be used; ``str()`` has one line a mistake, for the operator."""


class Places(BaseModel):
    """What every command needs."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    state_dir: Path = Field(
        default=Path("/var/lib/gofer"), description="where tasks and sandboxes are remembered; must be there"
    )
    database_url: str = Field(
        default="", description="`sqlite:////PATH` or `postgresql://…`; `gofer.db` in the state directory if empty"
    )
    log_level: str = Field(default="INFO", pattern=r"^(DEBUG|INFO|WARNING|ERROR)$", description="how much is logged")

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
        description="the header that carries the key; `authorization` sends `Bearer KEY`",
    )
    model_private: bool = Field(
        default=False, description="the model's address may be plain http and private (your own gateway)"
    )
    model_ca_file: Path | None = Field(default=None, description="extra CA certificates for the model's address, PEM")
    github_url: BaseUrl = Field(
        default="https://github.com", description="GitHub; the address of your server with GitHub Enterprise"
    )
    github_private: bool = Field(
        default=False, description="GitHub's address may be plain http and private (GitHub Enterprise)"
    )
    github_ca_file: Path | None = Field(default=None, description="extra CA certificates for GitHub's address, PEM")
    instance: str = Field(
        default="gofer",
        pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$",
        description="marks our containers and our place in the database; one for each server",
    )
    sandbox: str = Field(default="local:", description="where sandboxes run; `local:` is Docker on this machine")
    docker_host: str = Field(default="unix:///var/run/docker.sock", description="the Docker Engine for `local:`")
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
            state_dir=self.state_dir / "sandboxes",
            docker_host=self.docker_host,
            image_prefix=self.image_prefix,
            gateway=Gateway(
                base_url=self.model_url,
                key=self.model_key,
                header=self.model_header,
                private=self.model_private,
                ca_pem=_pem(self.model_ca_file),
                host_gateway=any(
                    urlsplit(url).hostname == DOCKER_HOST_NAME for url in (self.model_url, self.github_url)
                ),
            ),
            git_host=GitHost(base_url=self.github_url, private=self.github_private, ca_pem=_pem(self.github_ca_file)),
            agent=AgentSettings(model=self.model),
            limits=self.limits,
            runtime=self.runtime,
        )


class Config(SandboxConfig):
    """Everything that ``gofer serve`` was told. Fields without a default must be given."""

    app_id: str = Field(pattern=r"^[A-Za-z0-9.]+$", description="the GitHub App's id or client id")
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
        default="/agent", pattern=r"^/[a-z][a-z0-9-]{0,31}$", description="the word that starts a command"
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


SECRETS = tuple(name for name, field in Config.model_fields.items() if "SecretStr" in str(field.annotation))


def anthropic_key(environment: Mapping[str, str] | None = None) -> SecretStr:
    """The provider's own variable, for ``gofer demo --real-model``. Raises ``ConfigError`` where it is not set."""
    key = (os.environ if environment is None else environment).get("ANTHROPIC_API_KEY", "")
    if not key:
        raise ConfigError("--real-model needs the key of the model in ANTHROPIC_API_KEY")
    return SecretStr(key)


def settings() -> list[tuple[str, str, str]]:
    """Every variable: name, default (empty: it must be given), meaning. deploy/settings.md is held equal to it."""
    rows = []
    for name, field in sorted(Config.model_fields.items(), key=lambda item: not item[1].is_required()):
        default = "" if field.is_required() else _shown(field.default)
        rows.append((variable(name), default, field.description or ""))
        if name in SECRETS:
            rows.append((variable(name) + FILE_SUFFIX, "none", f"a file that holds {variable(name)} instead"))
    return rows


def variable(field: str) -> str:
    return PREFIX + field.upper()


def from_environment(environment: Mapping[str, str] | None = None) -> Config:
    """Everything, for ``gofer serve``. Raises ``ConfigError`` with every mistake in it."""
    return read(Config, environment)


def read(kind: type[Kind], environment: Mapping[str, str] | None = None) -> Kind:
    """Read, check and freeze what a command needs (the process's environment if None is given); settings of other
    commands may be there, names that are none may not. Raises ``ConfigError`` with every mistake in it."""
    given = {k: v for k, v in (os.environ if environment is None else environment).items() if k.startswith(PREFIX)}
    mistakes: list[str] = []
    values: dict[str, Any] = {}
    for name, value in sorted(given.items()):
        try:
            field, text = _take(name, value)
            if field in values:
                raise ValueError(f"{variable(field)} and {variable(field)}{FILE_SUFFIX} are both given")
            values[field] = text
        except ValueError as error:
            mistakes.append(str(error))
    config: Kind | None = None
    try:
        config = kind(**{name: value for name, value in values.items() if name in kind.model_fields})
    except ValidationError as error:
        read = {variable(name) for name in values} | {name.removesuffix(FILE_SUFFIX) for name in given}
        mistakes += [line for item in error.errors() if (line := _mistake(item, read))]
    if mistakes or config is None:
        raise ConfigError("\n".join(mistakes))
    return config


def _take(name: str, value: str) -> tuple[str, str]:
    """The field that a variable sets, and with what."""
    field = name.removeprefix(PREFIX).lower()
    if field in Config.model_fields:
        return field, value
    stem = field.removesuffix(FILE_SUFFIX.lower())
    if stem in SECRETS:
        return stem, check.read_secret_file(name, value)
    known = [row[0] for row in settings()]
    raise ValueError(f"{name} is no setting of Gofer; nearest: {check.nearest(name, known)}")


def _mistake(error: ErrorDetails, read: set[str]) -> str:
    """One line; pydantic's own text would quote the value, which may be a secret. Empty: told already."""
    words = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return words
    name = variable(str(error["loc"][0]))
    if error["type"] != "missing":
        return f"{name}: {words}"
    return "" if name in read else f"{name} is missing"


def _shown(default: Any) -> str:
    if isinstance(default, SecretStr) or default in (None, ""):
        return "none"
    return str(default).lower() if isinstance(default, bool) else str(default)


def _pem(path: Path | None) -> str:
    """The certificates in ``path``. Raises ``ConfigError`` where they cannot be read."""
    if path is None:
        return ""
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        raise ConfigError(f"the certificates in {path} cannot be read: {error}") from None
