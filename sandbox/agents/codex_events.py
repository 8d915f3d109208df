"""The events of Codex's ``exec --json`` that this project reads, each validated before use.

Seen with 0.171.0 (tests/streams).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from sandbox.agents.shaped import Count, OrNone, Shaped, Text, event

# Seen: 1 a patch of one file. The paths behind the first are not shown.
MAX_CHANGES = 1000


class Change(Shaped):
    path: Text = ""


class Item(Shaped):
    """A step of the agent. Which keys it has depends on its type; other types than those in use are let through."""

    type: Text
    text: Text = ""
    """Of an ``agent_message``."""
    tool: Annotated[Text | None, OrNone] = None
    """Of an ``mcp_tool_call``."""
    changes: Annotated[list[Change] | None, Field(max_length=MAX_CHANGES), OrNone] = None
    """Of a ``file_change``."""


class Began(Shaped):
    """The first event. ``thread_id`` is what the CLI calls a session elsewhere."""

    type: Literal["thread.started"]
    thread_id: Annotated[Text | None, OrNone] = None


class TurnStarted(Shaped):
    type: Literal["turn.started"]


class Step(Shaped):
    """A step has begun or is done. A command's output is in the latter, up to a megabyte of it."""

    type: Literal["item.started", "item.updated", "item.completed"]
    item: Item


class Tokens(Shaped):
    """``input_tokens`` counts the cached ones too. Of all turns together."""

    input_tokens: Count = None
    cached_input_tokens: Count = None
    output_tokens: Count = None


class Completed(Shaped):
    """The final event of a success."""

    type: Literal["turn.completed"]
    usage: Annotated[Tokens | None, OrNone] = None


class Said(Shaped):
    message: Text


class Failed(Shaped):
    """The final event of a failure; it does not tell what was used."""

    type: Literal["turn.failed"]
    error: Said


class Trouble(Shaped):
    """The CLI is about to ask the model again ("Reconnecting... 1/5 (why)"), or ``Failed`` is about to follow."""

    type: Literal["error"]
    message: Text


class Other(Shaped):
    """A line of the format that is not read further."""

    type: Text


Event = Began | TurnStarted | Step | Completed | Failed | Trouble | Other
_BY_TYPE: dict[str, TypeAdapter[Any]] = {
    "thread.started": TypeAdapter(Began),
    "turn.started": TypeAdapter(TurnStarted),
    "item.started": TypeAdapter(Step),
    "item.updated": TypeAdapter(Step),
    "item.completed": TypeAdapter(Step),
    "turn.completed": TypeAdapter(Completed),
    "turn.failed": TypeAdapter(Failed),
    "error": TypeAdapter(Trouble),
}
_OTHER = TypeAdapter(Other)


def parse(line: bytes) -> Event | None:
    """One line as an event; None where it is no JSON object with a type, or not shaped as that type demands."""
    found: Event | None = event(line, _adapter)
    return found


def _adapter(value: dict[str, Any]) -> TypeAdapter[Any]:
    kind = value.get("type")
    return _BY_TYPE.get(kind, _OTHER) if isinstance(kind, str) else _OTHER
