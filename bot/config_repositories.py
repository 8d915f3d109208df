"""What the operator decides for single repositories: a TOML file, strict, with the line's place in every mistake.

["octo/hello"]
image = "gofer-hello/{agent}:latest"        # built FROM ours; {agent} is the agent's name
setup.commands = ["cp package*.json /deps/", "cd /deps && npm ci"]   # before the agent starts
setup.lockfiles = ["package.json", "package-lock.json"]    # all that they see; by these, what they left is kept
setup.seconds = 600
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from bot.config_base import ConfigError
from bot.tasks import Frozen
from sandbox import Setup

SETTING = "GOFER_REPOSITORIES_FILE"
# Bytes. A hundred repositories with their commands are a tenth of it.
MAX_BYTES = 1_048_576

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}", re.ASCII)
# An image by name, with `{agent}` where the agent's name goes; no digest of ours, no option of a command.
_IMAGE = r"^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$"


class Repository(Frozen):
    """One table of the file."""

    image: str = ""
    setup: Setup | None = None


@dataclass(frozen=True)
class Repositories:
    """By OWNER/REPO in lower case, as the sandbox half takes them."""

    images: Mapping[str, str] = field(default_factory=dict)
    setups: Mapping[str, Setup] = field(default_factory=dict)


_tables: TypeAdapter[dict[str, Repository]] = TypeAdapter(dict[str, Repository])


def read(path: Path | None) -> Repositories:
    """Raises ``ConfigError`` with one line a mistake."""
    if path is None:
        return Repositories()
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{SETTING}: {path} cannot be read: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{SETTING}: {path} is larger than {MAX_BYTES} bytes")
    try:
        return parse(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise ConfigError(f"{SETTING}: {path} is no UTF-8 text") from None
    except ValueError as error:
        raise ConfigError("\n".join(f"{SETTING}: {line}" for line in str(error).splitlines())) from None


def parse(text: str) -> Repositories:
    """Raises ``ValueError`` with one line a mistake."""
    try:
        tables = _tables.validate_python(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is no TOML: {error}") from None
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, item['loc']))}: {item['msg'].lower()}" for item in error.errors()]
        raise ValueError("\n".join(lines)) from None
    _check(tables)
    return Repositories(
        images={name.lower(): table.image for name, table in tables.items() if table.image},
        setups={name.lower(): table.setup for name, table in tables.items() if table.setup},
    )


def _check(tables: Mapping[str, Repository]) -> None:
    names = [name.lower() for name in tables]
    for name, table in tables.items():
        if not _REPOSITORY.fullmatch(name):
            raise ValueError(f'["{name}"] must be named "OWNER/REPO"')
        if names.count(name.lower()) > 1:
            raise ValueError(f'["{name}"] is there twice')
        if table.image and not re.fullmatch(_IMAGE, table.image.replace("{agent}", "agent")):
            raise ValueError(f'["{name}"] image: it must be the name of an image, such as "my-{{agent}}:latest"')
        if table.setup is not None and not any(command.strip() for command in table.setup.commands):
            raise ValueError(f'["{name}"] setup.commands: there is none')
        for path in table.setup.lockfiles if table.setup else ():
            if path.startswith("/") or ".." in path.split("/") or not path:
                raise ValueError(f'["{name}"] setup.lockfiles: {path!r} must be a path inside the repository')
