"""The Anthropic Messages API as the scripted model speaks it: one answer as JSON, or as the events of a stream. Pure.

Shapes as in https://docs.anthropic.com/en/api/messages-streaming and as the real API was seen to send them.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

# What every answer claims to have used: figures that a test can add up.
INPUT_TOKENS = 200
CACHED_TOKENS = 1000
OUTPUT_TOKENS = 34

_ERROR_TYPES = {
    400: ("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Payment required: budget used up"),
    403: ("permission_error", "This key may not use that resource"),
    404: ("not_found_error", "model: no such model"),
    413: ("request_too_large", "Request too large"),
    429: ("rate_limit_error", "Rate limit reached"),
    500: ("api_error", "Internal server error"),
    503: ("api_error", "Service unavailable"),
    529: ("overloaded_error", "Overloaded"),
}
STATUSES = tuple(_ERROR_TYPES)


@dataclass(frozen=True)
class Call:
    """One use of a tool that the model asks for."""

    tool: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Say:
    """One answer of the model: words, a call, or both; neither is an answer too."""

    text: str = ""
    call: Call | None = None
    stop: Literal["end_turn", "max_tokens", "refusal"] = "end_turn"
    """Why it ended; with a call it is always ``tool_use``."""


def new_id(prefix: str) -> str:
    """An id in the style of the API."""
    return prefix + uuid.uuid4().hex[:24]


def message(say: Say, model: str) -> dict[str, Any]:
    """``say`` as the body of an answer that is not streamed."""
    content: list[dict[str, Any]] = [{"type": "text", "text": say.text}] if say.text else []
    if say.call:
        call = {"id": new_id("toolu_"), "name": say.call.tool, "input": dict(say.call.input)}
        content.append({"type": "tool_use", **call})
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if say.call else say.stop,
        "stop_sequence": None,
        "usage": _usage(OUTPUT_TOKENS),
    }


def events(whole: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """``message``'s answer as (name, data) of each event of a stream, a word at a time."""
    head = {**whole, "content": [], "stop_reason": None, "usage": _usage(1)}
    yield "message_start", {"type": "message_start", "message": head}
    yield "ping", {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        yield from _block_events(index, block)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": whole["usage"]}
    yield "message_stop", {"type": "message_stop"}


def _block_events(index: int, block: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if block["type"] == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": word} for word in re.findall(r"\s*\S+\s*", block["text"])]
    else:
        empty = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": index}


def encode(name: str, data: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def error(status: int) -> dict[str, Any]:
    """The body of a failure with this status."""
    kind, said = _ERROR_TYPES[status]
    return {"type": "error", "error": {"type": kind, "message": said}, "request_id": new_id("req_")}


def _usage(output: int) -> dict[str, int]:
    return {
        "input_tokens": INPUT_TOKENS,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CACHED_TOKENS,
        "output_tokens": output,
    }
