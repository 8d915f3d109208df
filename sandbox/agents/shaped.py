"""One line of an agent's output as a value: what it may hold, and what becomes of what it may not. Pure.

Each CLI's events are classes built of these. Keys come in any order; keys that are not named are ignored, so that a
newer CLI may add some; what a named key holds must be of its type, or the whole line is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
)
from pydantic.functional_validators import WrapValidator

# Fits SQLite's and PostgreSQL's 64-bit integers and a JSON number in every language.
MAX_COUNT = 2**53

# NUL is refused by PostgreSQL and lone surrogates by UTF-8; JSON can carry both as escapes.
_UNSTORABLE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """``text`` without what no database or encoder takes: NUL goes, a lone surrogate becomes U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text.replace("\x00", ""))


def _clean_if_text(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


def _or_none(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    try:
        return validate(value)
    except ValidationError:
        return None


OrNone = WrapValidator(_or_none)
"""Marks what is for show: malformed it is unknown (None), and must not cost the event that carries it."""
Text = Annotated[str, BeforeValidator(_clean_if_text)]
Count = Annotated[int | None, Field(ge=0, le=MAX_COUNT, strict=True), OrNone]
Money = Annotated[float | None, Field(ge=0, le=1e9, allow_inf_nan=False), OrNone]


class Shaped(BaseModel):
    """The base of every event and every part of one."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


def load(line: bytes) -> dict[str, Any] | None:
    """The JSON object in a line; None where there is none. Never raises."""
    if not line.lstrip().startswith(b"{"):  # raising and catching costs five times as much, and lines are many
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):  # no JSON, a number of 5,000 digits, nested 100,000 deep
        return None
    return value if isinstance(value, dict) else None


def event(line: bytes, kind_of: Callable[[dict[str, Any]], TypeAdapter[Any]]) -> Any:
    """One line as the event that ``kind_of`` finds it to be; None where it is no JSON object with a type, or not shaped
    as that type demands. Never raises."""
    value = load(line)
    if value is None:
        return None
    try:
        return kind_of(value).validate_python(value)
    except ValidationError:
        return None
