"""What every settings class is made of. Reads no environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bot import config_checks as check

BaseUrl = Annotated[str, BeforeValidator(check.base_url)]
OptionalUrl = Annotated[str, BeforeValidator(lambda value: check.base_url(value) if value else "")]
OptionalPath = Annotated[Path | None, BeforeValidator(lambda value: value or None)]


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


def pem(name: str, path: Path | None) -> str:
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
