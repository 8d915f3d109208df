"""The events of Claude Code's ``--output-format stream-json`` that this project reads, each validated before use.

Seen with 2.1.332 (tests/streams). Keys come in any order; keys that are not named here are ignored, so that a newer
CLI may add some; what a named key holds must be of its type, or the whole line is refused.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

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
# Claude Code sends one block an event. A megabyte of tiny ones took half a second and 47 MB to validate.
MAX_BLOCKS = 100

# NUL is refused by PostgreSQL and lone surrogates by UTF-8; JSON can carry both as escapes.
_UNSTORABLE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """``text`` without what no database or encoder takes: NUL goes, a lone surrogate becomes U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text.replace("\x00", ""))


def _clean_if_text(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


def _or_none(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Figures are for show: a malformed one is unknown, and must not cost the final event."""
    try:
        return validate(value)
    except ValidationError:
        return None


Text = Annotated[str, BeforeValidator(_clean_if_text)]
Count = Annotated[int | None, Field(ge=0, le=MAX_COUNT, strict=True), WrapValidator(_or_none)]
Money = Annotated[float | None, Field(ge=0, le=1e9, allow_inf_nan=False), WrapValidator(_or_none)]


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class ToolInput(_Event):
    """The one argument that is worth showing; which key holds it depends on the tool."""

    file_path: Annotated[Text | None, WrapValidator(_or_none)] = None
    notebook_path: Annotated[Text | None, WrapValidator(_or_none)] = None


class Block(_Event):
    """A part of a message. Other kinds than the two in use are let through unread."""

    type: Text
    text: Text = ""
    name: Text = ""
    input: Annotated[ToolInput | None, WrapValidator(_or_none)] = None


class Message(_Event):
    content: list[Block] = Field(max_length=MAX_BLOCKS)


class Assistant(_Event):
    """What the model said or asked for. ``error`` names the failure of a message that the CLI made up itself."""

    type: Literal["assistant"]
    message: Message
    error: Text | None = None


class Tokens(_Event):
    """``input_tokens`` counts those that were neither written to the cache nor read from it."""

    input_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_read_input_tokens: Count = None
    output_tokens: Count = None


class Result(_Event):
    """The final event. ``subtype`` says "success" for API errors too: ``is_error`` decides."""

    type: Literal["result"]
    subtype: Text
    is_error: bool
    num_turns: int = Field(ge=0, le=MAX_COUNT)
    result: Text | None = None
    errors: list[Text] = Field(default=[], max_length=MAX_BLOCKS)
    stop_reason: Text | None = None
    terminal_reason: Text | None = None
    api_error_status: int | None = None
    api_error: Text | None = None
    session_id: Text | None = None
    total_cost_usd: Money = None
    usage: Annotated[Tokens | None, WrapValidator(_or_none)] = None


class Retry(_Event):
    """The CLI is about to ask the model again. ``error_status`` is None where there was no answer at all."""

    type: Literal["system"]
    subtype: Literal["api_retry"]
    error_status: int | None = None


class Other(_Event):
    """A line of the format that is not read further."""

    type: Text
    subtype: Text | None = None


Event = Assistant | Result | Retry | Other
_BY_KIND: dict[tuple[str, str | None], TypeAdapter[Any]] = {
    ("assistant", None): TypeAdapter(Assistant),
    ("result", None): TypeAdapter(Result),
    ("system", "api_retry"): TypeAdapter(Retry),
}
_OTHER = TypeAdapter(Other)


def parse(line: bytes) -> Event | None:
    """One line as an event; None where it is no JSON object with a type, or not shaped as that type demands."""
    if not line.lstrip().startswith(b"{"):  # raising and catching costs five times as much, and lines are many
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
        event: Event = _adapter(value).validate_python(value)
    except (ValueError, RecursionError):  # no JSON, a wrong shape, a number of 5,000 digits, nested 100,000 deep
        return None
    return event


def _adapter(value: Any) -> TypeAdapter[Any]:
    kind, subtype = (value.get("type"), value.get("subtype")) if isinstance(value, dict) else (None, None)
    if not isinstance(kind, str) or not isinstance(subtype, str | None):
        return _OTHER
    return _BY_KIND.get((kind, subtype if kind == "system" else None), _OTHER)
