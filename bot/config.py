"""What the operator decides. The only reader of the environment.

Each field of ``Config`` and ``RunnerConfig`` is one variable: ``GOFER_`` and the field's name in capitals. A secret
may come from a file instead (``GOFER_PRIVATE_KEY_FILE``). Strict: a name that is not known, a value that does not fit,
a secret that is a placeholder are errors in words, all told at once, and never with a secret's value in them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails

from bot import config_checks as check
from bot.config_values import Config, ConfigError, Places, RunnerConfig, SandboxConfig
from bot.config_words import words

__all__ = [
    "Config",
    "ConfigError",
    "Places",
    "RunnerConfig",
    "SandboxConfig",
    "anthropic_key",
    "for_run",
    "for_runner",
    "from_environment",
    "read",
    "settings",
    "variable",
]

PREFIX = "GOFER_"
FILE_SUFFIX = "_FILE"
# Of the image builds (deploy/images.md), which may be exported in the same shell. No setting of a running Gofer.
BUILD_OPTIONS = frozenset({"GOFER_BUILD_CA", "GOFER_DEBIAN_IMAGE", "GOFER_DEBIAN_MIRROR"})

Kind = TypeVar("Kind", bound=Places)

FIELDS = Config.model_fields | RunnerConfig.model_fields
"""Of all commands."""
SECRETS = tuple(name for name, field in FIELDS.items() if "SecretStr" in str(field.annotation))


def anthropic_key(environment: Mapping[str, str] | None = None) -> SecretStr:
    """The provider's own variable, for ``gofer demo --real-model``. Raises ``ConfigError`` where it is not set."""
    key = (os.environ if environment is None else environment).get("ANTHROPIC_API_KEY", "")
    if not key:
        raise ConfigError("--real-model needs the key of the model in ANTHROPIC_API_KEY")
    return SecretStr(key)


def settings() -> list[tuple[str, str, str]]:
    """Every variable: name, default (empty: it must be given), meaning. deploy/settings.md is held equal to it."""
    rows = []
    for name, field in sorted(FIELDS.items(), key=lambda item: not item[1].is_required()):
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


def for_runner(environment: Mapping[str, str] | None = None) -> RunnerConfig:
    """What ``gofer runner`` needs. Raises ``ConfigError``."""
    return read(RunnerConfig, environment)


def for_run(environment: Mapping[str, str] | None = None) -> SandboxConfig:
    """What ``gofer run`` needs. Its own default is a state directory of the user's: the server's is not everybody's to
    write, and what root left in it would be in the server's way. Raises ``ConfigError``."""
    given = dict(os.environ if environment is None else environment)
    if (own := _own_state_dir(given)) is not None:
        given.setdefault(variable("state_dir"), own)
    return read(SandboxConfig, given)


def _own_state_dir(given: Mapping[str, str]) -> str | None:
    """As the XDG base directory specification has it; a relative XDG_STATE_HOME does not count. None: no home."""
    if (state := given.get("XDG_STATE_HOME", "")).startswith("/"):
        return f"{state}/gofer"
    return f"{home}/.local/state/gofer" if (home := given.get("HOME", "")).startswith("/") else None


def read(kind: type[Kind], environment: Mapping[str, str] | None = None) -> Kind:
    """Read, check and freeze what a command needs (the process's environment if None is given); settings of other
    commands may be there, names that are none may not. Raises ``ConfigError`` with every mistake in it."""
    everything = os.environ if environment is None else environment
    given = {k: v for k, v in everything.items() if k.startswith(PREFIX) and k not in BUILD_OPTIONS}
    mistakes: list[str] = []
    values: dict[str, Any] = {}
    told: list[str] = []  # secrets whose file could not be read: that they are missing is no news
    for name, value in sorted(given.items()):
        try:
            field, text = _take(name, value)
            if field in values:
                raise ValueError(f"{variable(field)} and {variable(field)}{FILE_SUFFIX} are both given")
            values[field] = text
        except ValueError as error:
            mistakes.append(str(error))
            told.append(name.removesuffix(FILE_SUFFIX) + " ")
    config: Kind | None = None
    try:
        config = kind(**{name: value for name, value in values.items() if name in kind.model_fields})
    except ValidationError as error:
        lines = [line for item in error.errors() for line in _mistake(item, kind).splitlines()]
        mistakes += [line for line in lines if not line.startswith(tuple(told))]
    if mistakes or config is None:
        raise ConfigError("\n".join(mistakes))
    return config


def _take(name: str, value: str) -> tuple[str, str]:
    """The field that a variable sets, and with what."""
    field = name.removeprefix(PREFIX).lower()
    if field in FIELDS:
        return field, value
    stem = field.removesuffix(FILE_SUFFIX.lower())
    if stem in SECRETS:
        return stem, check.read_secret_file(name, value)
    known = [row[0] for row in settings()]
    raise ValueError(f"{name} is no setting of Gofer; nearest: {check.nearest(name, known)}")


def _mistake(error: ErrorDetails, kind: type[Places]) -> str:
    """One line; pydantic's own text would quote the value, which may be a secret."""
    if not error["loc"]:
        return words(error, None)
    field = str(error["loc"][0])
    if error["type"] == "missing":
        return f"{variable(field)} is missing"
    return f"{variable(field)}: {words(error, kind.model_fields[field])}"


def _shown(default: Any) -> str:
    if isinstance(default, SecretStr) or default in (None, ""):
        return "none"
    return str(default).lower() if isinstance(default, bool) else str(default)
