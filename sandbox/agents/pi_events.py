"""The events of Pi's ``--mode json`` that this project reads, each validated before use.

Seen with 1.6.0 (tests/streams). See ``shaped`` for what becomes of keys that are not named here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from sandbox.agents.shaped import Count, Money, OrNone, Shaped, Text, event

# One message has a handful of them.
MAX_BLOCKS = 1000

UNREAD = (
    b'{"type":"message_update"',
    b'{"type":"message_start"',
    b'{"type":"message_end","message":{"role":"system"',
    b'{"type":"message_end","message":{"role":"user"',
    b'{"type":"message_end","message":{"role":"toolResult"',
    b'{"type":"tool_execution_update"',
    b'{"type":"tool_execution_end"',
    b'{"type":"turn_end"',
    b'{"type":"agent_end"',
)
"""How lines begin that say nothing new: one a token, and repetitions of whole messages, some of them megabytes long.
They are not parsed, and not missed where they are too long to be held. The launcher in images/pi drops most of them."""


class Session(Shaped):
    """The first line."""

    type: Literal["session"]
    id: Text


class Cost(Shaped):
    """``total`` is in USD."""

    total: Money = None


class Tokens(Shaped):
    """``input`` counts those that were neither written to the cache nor read from it."""

    input: Count = None
    output: Count = None
    cacheRead: Count = None
    cacheWrite: Count = None
    cost: Annotated[Cost | None, OrNone] = None


class Block(Shaped):
    """A part of a message. Other kinds than text are let through unread."""

    type: Text
    text: Text = ""


class Message(Shaped):
    """What the model said. ``errorMessage`` is there where ``stopReason`` is "error"."""

    role: Literal["assistant"]
    content: list[Block] = Field(max_length=MAX_BLOCKS)
    stopReason: Text
    rawStopReason: Text | None = None
    errorMessage: Text | None = None
    usage: Annotated[Tokens | None, OrNone] = None


class MessageEnd(Shaped):
    """An answer of the model is whole."""

    type: Literal["message_end"]
    message: Message


class Args(Shaped):
    """The one argument that is worth showing."""

    path: Annotated[Text | None, OrNone] = None


class ToolStart(Shaped):
    """A tool begins."""

    type: Literal["tool_execution_start"]
    toolName: Text
    args: Annotated[Args | None, OrNone] = None


class Retry(Shaped):
    """The model is about to be asked again."""

    type: Literal["auto_retry_start"]
    errorMessage: Text = ""


class AgentStart(Shaped):
    """Work begins, or goes on."""

    type: Literal["agent_start"]


class Settled(Shaped):
    """The final event."""

    type: Literal["agent_settled"]
    aborted: bool


class Other(Shaped):
    """A line of the format that is not read further."""

    type: Text


Event = Session | MessageEnd | ToolStart | Retry | AgentStart | Settled | Other
_BY_TYPE: dict[str, TypeAdapter[Any]] = {
    "session": TypeAdapter(Session),
    "message_end": TypeAdapter(MessageEnd),
    "tool_execution_start": TypeAdapter(ToolStart),
    "auto_retry_start": TypeAdapter(Retry),
    "agent_start": TypeAdapter(AgentStart),
    "agent_settled": TypeAdapter(Settled),
}
_OTHER = TypeAdapter(Other)


def parse(line: bytes) -> Event | None:
    """One line as an event; None where it is no JSON object with a type, or not shaped as that type demands."""
    found: Event | None = event(line, _adapter)
    return found


def _adapter(value: dict[str, Any]) -> TypeAdapter[Any]:
    kind, message = value.get("type"), value.get("message")
    if kind == "message_end" and isinstance(message, dict) and message.get("role") != "assistant":
        return _OTHER  # what the model was told
    return _BY_TYPE.get(kind, _OTHER) if isinstance(kind, str) else _OTHER
