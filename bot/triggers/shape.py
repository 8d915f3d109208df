"""The shapes that payloads have in common: what of them is read, and of what kind it must be. Pure.

GitHub adds fields at any time, so unknown ones are ignored; of those that are read, each must be of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from bot.tasks import Actor, Change, Repository, Request


@dataclass(frozen=True)
class Context:
    """What a trigger must know besides the payload."""

    delivery_id: str
    word: str
    app_id: str


@dataclass(frozen=True)
class Ignored:
    """Nothing is asked of us. ``reason`` is a constant of ours: it is answered and logged."""

    reason: str


class Trigger(Protocol):
    """Reads the payload of one event. Raises ``pydantic.ValidationError`` where it is not that event's."""

    def __call__(self, payload: object, context: Context, /) -> Request | Change | Ignored: ...


def _clean(value: Any) -> Any:
    """NULs and lone surrogates can neither be stored nor written to a file."""
    return value.replace("\0", "").encode("utf-8", "ignore").decode() if isinstance(value, str) else value


# GitHub's ids are positive; the databases keep 64 bits with a sign.
Id = Annotated[int, Field(gt=0, lt=2**63, strict=True)]
Text = Annotated[str, BeforeValidator(_clean)]
OptionalText = Annotated[str, BeforeValidator(lambda value: "" if value is None else _clean(value))]


def _no_dots(name: str) -> str:
    if name in {".", ".."}:
        raise ValueError("a name of dots alone would climb in a URL")
    return name


# GitHub's titles have at most 256 characters; a longer one is no title.
Title = Annotated[OptionalText, StringConstraints(max_length=1_000)]

# The alphabets of logins (bots end in "[bot]") and of repository names. They become parts of URLs.
Login = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9_.-]{1,100}(?:\[bot\])?\z"), AfterValidator(_no_dots)]
Name = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9._-]{1,100}\z"), AfterValidator(_no_dots)]


class Part(BaseModel):
    """A piece of a payload."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class User(Part):
    """An account. A deleted one is null wherever GitHub shows it."""

    id: Id
    login: Login
    type: str = Field(max_length=40)

    def actor(self) -> Actor:
        return Actor(id=self.id, login=self.login, type=self.type)


class Owner(Part):
    login: Name


class Repo(Part):
    """The repository of the payload: believed only as far as the API says the same later."""

    id: Id
    name: Name
    owner: Owner
    private: bool = Field(strict=True)
    default_branch: Text = Field(min_length=1, max_length=255)

    def repository(self) -> Repository:
        return Repository(
            id=self.id,
            owner=self.owner.login,
            name=self.name,
            private=self.private,
            default_branch=self.default_branch,
        )


class Installation(Part):
    id: Id


class App(Part):
    id: Id
    client_id: str | None = None


Moment = Annotated[AwareDatetime, BeforeValidator(lambda value: value if isinstance(value, str) else None)]
