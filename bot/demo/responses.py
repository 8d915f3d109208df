"""The OpenAI Responses API as the scripted model speaks it: one answer as JSON, or as the events of a stream. Pure.

Shapes as in https://platform.openai.com/docs/api-reference/responses-streaming; Codex 0.171.0, OpenCode 1.18.33 and
Pi 1.6.0 were seen to take them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from bot.demo import asked, openai_errors
from bot.demo.asked import Asked, Tool
from bot.demo.say import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, Call, Say, new_id, words

ENDING = "/responses"
KEY_HEADER, ID_HEADER = openai_errors.KEY_HEADER, openai_errors.ID_HEADER
BEFORE_BREAK = 5
"""Events that go out before a stream breaks: two of the head, the starts of a message and its text, the first word."""

REASONING_TOKENS = 5
"""Of the output's."""

failure = openai_errors.failure


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str = ""
    text: str = ""


class _Schema(BaseModel):
    model_config = ConfigDict(extra="ignore")
    properties: dict[str, Any] = {}


class _Tool(BaseModel):
    """A tool, or a name space of them; the provider's own tools have a type and no name."""

    model_config = ConfigDict(extra="ignore")
    type: str = "function"
    name: str = ""
    parameters: _Schema | None = None
    tools: list[_Tool] = []


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str = "message"
    role: str = ""
    content: str | list[_Part] | None = None
    tools: list[_Tool] = []

    def texts(self) -> list[str]:
        if isinstance(self.content, str):
            return [self.content]
        return [part.text for part in self.content or [] if part.type in {"input_text", "text"}]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")
    model: str
    stream: bool = False
    input: str | list[_Item]
    instructions: Any = None
    tools: list[_Tool] | None = None

    def items(self) -> list[_Item]:
        return [_Item(role="user", content=self.input)] if isinstance(self.input, str) else self.input


def read(body: bytes) -> Asked:
    """A request's body. Raises ``ValueError`` for what is none."""
    sent = _Body.model_validate_json(body)
    items = sent.items()
    # Codex's newest models get their tools in the input.
    offered = [*(sent.tools or []), *(tool for item in items for tool in item.tools)]
    return Asked(
        model=sent.model,
        stream=sent.stream,
        typed=asked.typed(text for item in items if item.role == "user" for text in item.texts()),
        results=sum(item.type.endswith("_call_output") for item in items),
        folder=asked.folder(sent.instructions, *(text for item in items for text in item.texts())),
        tools=tuple(_tool(one) for tool in offered for one in (tool.tools or [tool])),
    )


def _tool(tool: _Tool) -> Tool:
    keys = frozenset(tool.parameters.properties) if tool.parameters else frozenset[str]()
    return Tool(tool.name or tool.type, keys, tool.type == "custom")


def whole(say: Say, model: str) -> dict[str, Any]:
    """``say`` as the body of an answer that is not streamed."""
    output = [*([_message(say)] if say.text else []), *([_call(say.call)] if say.call else [])]
    cut = say.stop == "max_tokens" and not say.call
    return {
        **_head(model),
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": output,
        "usage": {
            "input_tokens": INPUT_TOKENS + CACHED_TOKENS,
            "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": REASONING_TOKENS},
            "total_tokens": INPUT_TOKENS + CACHED_TOKENS + OUTPUT_TOKENS,
        },
    }


def _head(model: str) -> dict[str, Any]:
    # The script has no clock: a moment that was.
    fixed = {"object": "response", "created_at": 1_790_000_000, "error": None, "metadata": {}}
    return {"id": new_id("resp_"), "model": model, **fixed}


def _message(say: Say) -> dict[str, Any]:
    said = {"type": "output_text", "text": say.text, "annotations": []}
    part = {"type": "refusal", "refusal": say.text} if say.stop == "refusal" else said
    return {"id": new_id("msg_"), "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _call(call: Call) -> dict[str, Any]:
    common = {"status": "completed", "call_id": new_id("call_"), "name": call.tool}
    if call.text:
        return {"id": new_id("ctc_"), "type": "custom_tool_call", **common, "input": call.text}
    return {"id": new_id("fc_"), "type": "function_call", **common, "arguments": json.dumps(dict(call.input))}


def stream(answer: Mapping[str, Any], _: Asked) -> Iterator[bytes]:
    """``whole``'s answer as the events of a stream."""
    return (encode(name, data) for name, data in events(answer))


def events(answer: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """``whole``'s answer as (name, data) of each event of a stream, numbered, a word at a time."""
    for number, (name, data) in enumerate(_events(answer)):
        yield name, {"type": name, "sequence_number": number, **data}


def _events(answer: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = {**answer, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(answer["output"]):
        yield from _message_events(index, item) if item["type"] == "message" else _call_events(index, item)
    yield f"response.{answer['status']}", {"response": dict(answer)}


def _message_events(index: int, item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    (part,) = item["content"]
    kind, key = part["type"], "refusal" if part["type"] == "refusal" else "text"
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    empty = {**item, "status": "in_progress", "content": []}
    yield "response.output_item.added", {"output_index": index, "item": empty}
    yield "response.content_part.added", {**where, "part": {**part, key: ""}}
    for word in words(part[key]):
        yield f"response.{kind}.delta", {**where, "delta": word}
    yield f"response.{kind}.done", {**where, key: part[key]}
    yield "response.content_part.done", {**where, "part": part}
    yield "response.output_item.done", {"output_index": index, "item": dict(item)}


def _call_events(index: int, item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    custom = item["type"] == "custom_tool_call"
    stem, key = ("custom_tool_call_input", "input") if custom else ("function_call_arguments", "arguments")
    where = {"item_id": item["id"], "output_index": index}
    yield "response.output_item.added", {"output_index": index, "item": {**item, "status": "in_progress", key: ""}}
    yield f"response.{stem}.delta", {**where, "delta": item[key]}
    yield f"response.{stem}.done", {**where, key: item[key]}
    yield "response.output_item.done", {"output_index": index, "item": dict(item)}


def encode(name: str, data: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def stream_error() -> bytes:
    """The event with which a stream fails."""
    error = {"code": "server_error", "message": "The server had an error while processing your request."}
    response = {**_head("m"), "status": "failed", "output": [], "error": error, "usage": None}
    name = "response.failed"
    return encode(name, {"type": name, "sequence_number": BEFORE_BREAK, "response": response})
