"""``.github/gofer.yml``: what a repository decides about this bot. Strict; read from the default branch only. Pure.

It may only narrow what the operator allows. A key that is not known, a value of another type, a name that the operator
does not offer: each is a mistake that is told to the maintainer, and until it is mended nothing runs. There is no
fallback: a file that cannot be understood is never taken for one that allows.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from bot.repo_yaml import YamlMistake, load
from bot.typos import nearest

PATH = ".github/gofer.yml"

# One line of each kind that people will ever write; more is a file that was made by a program.
MAX_ENTRIES = 50
# Text for the agent beside the prompt: a page.
MAX_INSTRUCTIONS_CHARS = 8_000

Line = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]


def _no_star(login: str) -> str:
    if "*" in login:
        raise ValueError("there is no wildcard: name each")
    return login


def _glob(path: str) -> str:
    if path.startswith("/") or re.search(r"(^|/)\.\.?(/|$)|//|\\", path):
        raise ValueError("a path of this repository, with / between its parts and without . and ..")
    return path


Login = Annotated[Line, AfterValidator(_no_star)]
Glob = Annotated[Line, AfterValidator(_glob)]


class Section(BaseModel):
    """A part of the file; unknown keys are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Ask(Section):
    """Who may ask, of those who may push. Programs never do: there is no key that lets one."""

    role: Literal["write", "maintain", "admin"] = Field(default="write", description="the lowest role that may ask")
    users: list[Login] | None = Field(default=None, max_length=MAX_ENTRIES, description="these logins only")


class Default(Section):
    """What holds where a command does not say."""

    agent: Line | None = Field(default=None, description="one of `agents`")
    model: Line | None = Field(default=None, description="one of `models`")
    result: Literal["diff", "pr"] | None = Field(
        default=None, description="for comments; a diff unless given (labels bring a pull request)"
    )
    draft: bool = Field(default=True, description="pull requests are drafts")


class Budget(Section):
    """What one task may use; at most what the operator allows."""

    minutes: int | None = Field(default=None, gt=0, description="of time, from the agent's start")
    cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False, strict=False, description="US dollars")
    tokens: int | None = Field(default=None, gt=0, description="input, cached ones too, and output")
    requests: int | None = Field(default=None, gt=0, description="questions to the model")


class Setup(Section):
    """Commands that install what the tests need, before the agent starts; kept until a lockfile changes."""

    commands: list[Line] = Field(min_length=1, max_length=MAX_ENTRIES, description="each a line of bash")
    lockfiles: list[Glob] = Field(default=[], max_length=MAX_ENTRIES, description="what decides whether they run again")
    minutes: int = Field(default=10, gt=0, le=60, description="for all of them together")


class RepoConfig(Section):
    """The whole file. An empty one is as good as none."""

    ask: Ask = Field(default=Ask(), description="who may ask")
    agents: list[Line] | None = Field(default=None, min_length=1, max_length=MAX_ENTRIES, description="these only")
    models: list[Line] | None = Field(default=None, min_length=1, max_length=MAX_ENTRIES, description="these only")
    default: Default = Field(default=Default(), description="what holds where a command does not say")
    labels: dict[Line, Annotated[str, StringConstraints(max_length=MAX_INSTRUCTIONS_CHARS)]] | None = Field(
        default=None,
        max_length=MAX_ENTRIES,
        description="labels that start a task, each with its prompt (empty: what the issue says); `agent` unless given",
    )
    protected_paths: list[Glob] = Field(
        default=[],
        max_length=MAX_ENTRIES,
        description="no pull request changes these, beside those that none ever does",
    )
    instructions: str = Field(
        default="", max_length=MAX_INSTRUCTIONS_CHARS, description="told to the agent with every prompt"
    )
    setup: Setup | None = Field(default=None, description="what installs the dependencies")
    allowed_destinations: list[Line] | None = Field(
        default=None, max_length=MAX_ENTRIES, description="of what the operator allows, these only; none if empty"
    )
    budget: Budget = Field(default=Budget(), description="what one task may use")
    rounds: int | None = Field(default=None, ge=0, description="times that a review is answered, on one pull request")
    context: Literal["writers", "everyone"] = Field(
        default="writers", description="whose words on the thread the agent is told beside the asker's"
    )


class ConfigMistake(Exception):
    """``str()`` tells a maintainer what is wrong, a line for each mistake. It may quote the file: untrusted."""


def parse(text: str) -> RepoConfig:
    """Read and check. Raises ``ConfigMistake``."""
    try:
        given = load(text)
    except YamlMistake as error:
        raise ConfigMistake(str(error)) from None
    if given is None:
        return RepoConfig()
    if not isinstance(given, dict):
        raise ConfigMistake("it must hold keys with values")
    try:
        return RepoConfig.model_validate(given)
    except ValidationError as error:
        raise ConfigMistake("\n".join(_mistake(item) for item in error.errors()[:MAX_ENTRIES])) from None


def _mistake(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"] if part != "[key]")
    if error["type"] == "extra_forbidden":
        *parents, key = error["loc"]
        known = _known(parents)
        return (
            f"{place}: there is no such key; nearest: {nearest(str(key), known)}" if known else f"{place}: no such key"
        )
    return f"{place}: {error['msg'].removeprefix('Value error, ')}"


def _known(parents: list[Any]) -> list[str]:
    """The keys of a section."""
    model: type[BaseModel] | None = RepoConfig
    for name in parents:
        field = model.model_fields.get(str(name)) if model else None
        kinds = [field.annotation] if field else []
        kinds += list(getattr(kinds[0], "__args__", ())) if kinds else []
        model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
    return list(model.model_fields) if model else []


def schema() -> dict[str, Any]:
    """JSON Schema for editors: served by the bot, and kept at deploy/gofer.schema.json."""
    made = RepoConfig.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "Gofer"}
