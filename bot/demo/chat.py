"""The OpenAI Chat Completions API as the scripted model speaks it: as JSON, or as the chunks of a stream. Pure.

Shapes as in https://platform.openai.com/docs/api-reference/chat-streaming; OpenCode 1.18.33 and Pi 1.6.0 were seen to
take them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from bot.demo import asked, openai_errors
from bot.demo.asked import Asked, Tool
from bot.demo.say import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, Say, new_id, words

ENDING = "/chat/completions"
KEY_HEADER, ID_HEADER = openai_errors.KEY_HEADER, openai_errors.ID_HEADER
BEFORE_BREAK = 2
"""Chunks that go out before a stream breaks: the head and the first word."""

failure = openai_errors.failure

_FINISH = {"end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str = ""
    text: str = ""


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: str
    content: str | list[_Part] | None = None

    def texts(self) -> list[str]:
        return [self.content] if isinstance(self.content, str) else [part.text for part in self.content or []]


class _Schema(BaseModel):
    model_config = ConfigDict(extra="ignore")
    properties: dict[str, Any] = {}


class _Function(BaseModel):
    model_config = ConfigDict(extra="ignore")
    name: str
    parameters: _Schema = _Schema()


class _Tool(BaseModel):
    model_config = ConfigDict(extra="ignore")
    function: _Function


class _Options(BaseModel):
    model_config = ConfigDict(extra="ignore")
    include_usage: bool = False


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")
    model: str
    stream: bool = False
    stream_options: _Options | None = None
    messages: list[_Message]
    tools: list[_Tool] | None = None


def read(body: bytes) -> Asked:
    """A request's body. Raises ``ValueError`` for what is none."""
    sent = _Body.model_validate_json(body)
    functions = [tool.function for tool in sent.tools or []]
    return Asked(
        model=sent.model,
        stream=sent.stream,
        typed=asked.typed(text for said in sent.messages if said.role == "user" for text in said.texts()),
        results=sum(said.role == "tool" for said in sent.messages),
        folder=asked.folder(*(text for said in sent.messages for text in said.texts())),
        tools=tuple(Tool(one.name, frozenset(one.parameters.properties)) for one in functions),
        usage_chunk=bool(sent.stream_options and sent.stream_options.include_usage),
    )


def whole(say: Say, model: str) -> dict[str, Any]:
    """``say`` as the body of an answer that is not streamed."""
    key = "refusal" if say.stop == "refusal" else "content"
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None, key: say.text or None}
    if say.call:
        function = {"name": say.call.tool, "arguments": json.dumps(dict(say.call.input))}
        message["tool_calls"] = [{"id": new_id("call_"), "type": "function", "function": function}]
    finish = "tool_calls" if say.call else _FINISH[say.stop]
    return {
        **_head(model),
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": INPUT_TOKENS + CACHED_TOKENS,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + CACHED_TOKENS + OUTPUT_TOKENS,
            "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
        },
    }


def _head(model: str) -> dict[str, Any]:
    # The script has no clock: a moment that was.
    return {"id": new_id("chatcmpl-"), "created": 1_790_000_000, "model": model, "system_fingerprint": "fp_script"}


def stream(answer: Mapping[str, Any], question: Asked) -> Iterator[bytes]:
    """``whole``'s answer as the chunks of a stream, the mark of its end included."""
    for chunk in chunks(answer, usage=question.usage_chunk):
        yield encode(chunk)
    yield b"data: [DONE]\n\n"


def chunks(answer: Mapping[str, Any], *, usage: bool) -> Iterator[dict[str, Any]]:
    """``whole``'s answer as the chunks of a stream, a word at a time; ``usage``: one more with what was used."""
    head = {**{key: answer[key] for key in _head("")}, "object": "chat.completion.chunk"}
    more = {"usage": None} if usage else {}
    (choice,) = answer["choices"]
    for delta in _deltas(choice["message"]):
        yield {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}], **more}
    last = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": choice["finish_reason"]}
    yield {**head, "choices": [last], **more}
    if usage:
        yield {**head, "choices": [], "usage": answer["usage"]}


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "", "refusal": None}
    for key in ("content", "refusal"):
        for word in words(message[key] or ""):
            yield {key: word}
    for index, call in enumerate(message.get("tool_calls", [])):
        yield {"tool_calls": [{"index": index, **call}]}


def encode(chunk: Mapping[str, Any]) -> bytes:
    """One server-sent event; this API names none."""
    return f"data: {json.dumps(chunk)}\n\n".encode()


def stream_error() -> bytes:
    """The event with which a stream fails."""
    return encode(failure("500")[1])
