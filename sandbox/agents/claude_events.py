"""The events of Claude Code's ``--output-format stream-json`` that this project reads, each validated before use.

Seen with 2.1.332 (tests/streams).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from sandbox.agents.shaped import MAX_COUNT, Count, Money, OrNone, Shaped, Text, event

# Claude Code sends one block an event. A megabyte of tiny ones took half a second and 47 MB to validate.
MAX_BLOCKS = 100


class ToolInput(Shaped):
    """The one argument that is worth showing; which key holds it depends on the tool."""

    file_path: Annotated[Text | None, OrNone] = None
    notebook_path: Annotated[Text | None, OrNone] = None


class Block(Shaped):
    """A part of a message. Other kinds than the two in use are let through unread."""

    type: Text
    text: Text = ""
    name: Text = ""
    input: Annotated[ToolInput | None, OrNone] = None


class Message(Shaped):
    content: list[Block] = Field(max_length=MAX_BLOCKS)


class Assistant(Shaped):
    """What the model said or asked for. ``error`` names the failure of a message that the CLI made up itself."""

    type: Literal["assistant"]
    message: Message
    error: Text | None = None


class Tokens(Shaped):
    """``input_tokens`` counts those that were neither written to the cache nor read from it."""

    input_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_read_input_tokens: Count = None
    output_tokens: Count = None


class Result(Shaped):
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
    usage: Annotated[Tokens | None, OrNone] = None


class Retry(Shaped):
    """The CLI is about to ask the model again. ``error_status`` is None where there was no answer at all."""

    type: Literal["system"]
    subtype: Literal["api_retry"]
    error_status: int | None = None


class Other(Shaped):
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
    found: Event | None = event(line, _adapter)
    return found


def _adapter(value: dict[str, Any]) -> TypeAdapter[Any]:
    kind, subtype = value.get("type"), value.get("subtype")
    if not isinstance(kind, str) or not isinstance(subtype, str | None):
        return _OTHER
    return _BY_KIND.get((kind, subtype if kind == "system" else None), _OTHER)
