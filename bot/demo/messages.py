"""The Anthropic Messages API as the scripted model speaks it: one answer as JSON, or as the events of a stream. Pure.

Shapes as in https://docs.anthropic.com/en/api/messages-streaming and as the real API was seen to send them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from bot.demo import asked
from bot.demo.asked import Asked, Tool
from bot.demo.say import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, Say, new_id, words

ENDING = "/v1/messages"
KEY_HEADER = "x-api-key"
ID_HEADER = "request-id"
BEFORE_BREAK = 4
"""Events that go out before a stream breaks: the head, a ping, the start of a text and its first word."""

_ERRORS = {
    "400": (400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    "401": (401, "authentication_error", "invalid x-api-key"),
    "402": (402, "billing_error", "Payment required: budget used up"),
    "403": (403, "permission_error", "This key may not use that resource"),
    "404": (404, "not_found_error", "model: no such model"),
    "413": (413, "request_too_large", "Request too large"),
    "429": (429, "rate_limit_error", "Rate limit reached"),
    "500": (500, "api_error", "Internal server error"),
    "503": (503, "api_error", "Service unavailable"),
    "529": (529, "overloaded_error", "Overloaded"),
    "quota": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
}


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: str
    content: str | list[_Part]

    def parts(self) -> list[_Part]:
        return [_Part(type="text", text=self.content)] if isinstance(self.content, str) else self.content


class _Schema(BaseModel):
    model_config = ConfigDict(extra="ignore")
    properties: dict[str, Any] = {}


class _Tool(BaseModel):
    model_config = ConfigDict(extra="ignore")
    name: str
    input_schema: _Schema = _Schema()


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")
    model: str
    stream: bool = False
    messages: list[_Message]
    tools: list[_Tool] = []
    system: Any = None


def read(body: bytes) -> Asked:
    """A request's body. Raises ``ValueError`` for what is none."""
    sent = _Body.model_validate_json(body)
    parts = [(said.role, part) for said in sent.messages for part in said.parts()]
    return Asked(
        model=sent.model,
        stream=sent.stream,
        typed=asked.typed(part.text for role, part in parts if role == "user" and part.type == "text"),
        results=sum(part.type == "tool_result" for _, part in parts),
        folder=asked.folder(sent.system, sent.messages),
        tools=tuple(Tool(tool.name, frozenset(tool.input_schema.properties)) for tool in sent.tools),
    )


def whole(say: Say, model: str) -> dict[str, Any]:
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


def stream(answer: Mapping[str, Any], _: Asked) -> Iterator[bytes]:
    """``whole``'s answer as the events of a stream."""
    return (encode(name, data) for name, data in events(answer))


def events(answer: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """``whole``'s answer as (name, data) of each event of a stream, a word at a time."""
    head = {**answer, "content": [], "stop_reason": None, "usage": _usage(1)}
    yield "message_start", {"type": "message_start", "message": head}
    yield "ping", {"type": "ping"}
    for index, block in enumerate(answer["content"]):
        yield from _block_events(index, block)
    delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": answer["usage"]}
    yield "message_stop", {"type": "message_stop"}


def _block_events(index: int, block: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if block["type"] == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": word} for word in words(block["text"])]
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


def failure(name: str) -> tuple[int, dict[str, Any]]:
    """Status and body of this failure: a status of ``STATUSES`` as text, or ``quota``."""
    status, kind, said = _ERRORS[name]
    return status, {"type": "error", "error": {"type": kind, "message": said}, "request_id": new_id("req_")}


def stream_error() -> bytes:
    """The event with which a stream fails."""
    return encode("error", failure("529")[1])


def _usage(output: int) -> dict[str, int]:
    return {
        "input_tokens": INPUT_TOKENS,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CACHED_TOKENS,
        "output_tokens": output,
    }
