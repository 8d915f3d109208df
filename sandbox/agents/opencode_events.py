"""The events of OpenCode's ``run --format json`` that this project reads, each validated before use.

Seen with 1.18.33 (tests/streams).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import TypeAdapter

from sandbox.agents.shaped import Count, Money, OrNone, Shaped, Text, event


class Input(Shaped):
    """The one argument of a tool that is worth showing."""

    filePath: Annotated[Text | None, OrNone] = None


class ToolState(Shaped):
    input: Annotated[Input | None, OrNone] = None


class Tool(Shaped):
    tool: Text
    state: Annotated[ToolState | None, OrNone] = None


class Cache(Shaped):
    read: Count = None
    write: Count = None


class Tokens(Shaped):
    """``input`` without cached ones; ``output`` without those of the model's reasoning."""

    input: Count = None
    output: Count = None
    reasoning: Count = None
    cache: Annotated[Cache | None, OrNone] = None


class Finish(Shaped):
    """Why a step ended: stop, tool-calls, length, content-filter, error, other, unknown."""

    reason: Text
    tokens: Annotated[Tokens | None, OrNone] = None
    cost: Money = None


class Words(Shaped):
    text: Text


class Said(Shaped):
    """What an error says. ``statusCode`` is None where there was no answer at all."""

    message: Text = ""
    statusCode: int | None = None


class Failure(Shaped):
    name: Text
    data: Annotated[Said | None, OrNone] = None


class StepStart(Shaped):
    """The model's next answer has begun."""

    type: Literal["step_start"]
    sessionID: Text = ""


class TextPart(Shaped):
    type: Literal["text"]
    part: Words


class ToolUse(Shaped):
    """A tool has been used, or has failed."""

    type: Literal["tool_use"]
    part: Tool


class StepFinish(Shaped):
    """One answer of the model is whole."""

    type: Literal["step_finish"]
    part: Finish
    sessionID: Text = ""


class Error(Shaped):
    """The run is over, and not well. The CLI's own retries are not among these."""

    type: Literal["error"]
    error: Failure
    sessionID: Text = ""


class Other(Shaped):
    """A line of the format that is not read further."""

    type: Text


Event = StepStart | TextPart | ToolUse | StepFinish | Error | Other
_BY_KIND: dict[str, TypeAdapter[Any]] = {
    "step_start": TypeAdapter(StepStart),
    "text": TypeAdapter(TextPart),
    "tool_use": TypeAdapter(ToolUse),
    "step_finish": TypeAdapter(StepFinish),
    "error": TypeAdapter(Error),
}
_OTHER = TypeAdapter(Other)


def parse(line: bytes) -> Event | None:
    """One line as an event; None where it is no JSON object with a type, or not shaped as that type demands."""
    found: Event | None = event(line, _adapter)
    return found


def _adapter(value: dict[str, Any]) -> TypeAdapter[Any]:
    kind = value.get("type")
    return _BY_KIND.get(kind, _OTHER) if isinstance(kind, str) else _OTHER
