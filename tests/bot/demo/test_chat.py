from __future__ import annotations

import json
from typing import Any

import pytest

from bot.demo import chat
from bot.demo.asked import Asked, Tool
from bot.demo.say import Call, Say

SAYINGS = [
    Say(),
    Say("Nothing to do, really."),
    Say(call=Call("bash", {"command": "true"})),
    Say("First.", Call("write", {"path": "/x", "content": "ü\n"})),
    Say("Cut", stop="max_tokens"),
    Say("No.", stop="refusal"),
]


def added_up(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a client makes of a stream."""
    message: dict[str, Any] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            for key in ("content", "refusal"):
                message[key] = (message.get(key) or "") + (delta.get(key) or "") or None
            message |= {key: delta[key] for key in ("role", "tool_calls") if key in delta}
    for call in message.get("tool_calls", []):
        del call["index"]
    return message


@pytest.mark.parametrize("say", SAYINGS, ids=repr)
def test_a_stream_adds_up_to_the_answer_that_is_not_streamed(say: Say) -> None:
    whole = chat.whole(say, "m")
    chunks = list(chat.chunks(whole, usage=False))
    assert added_up(chunks) == whole["choices"][0]["message"]
    assert chunks[-1]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]


@pytest.mark.parametrize("wanted", [True, False])
def test_usage_is_sent_where_it_is_asked_for(wanted: bool) -> None:
    whole = chat.whole(Say("x"), "m")
    *_, last, end = chat.stream(whole, Asked("m", usage_chunk=wanted))
    assert end == b"data: [DONE]\n\n"
    sent = json.loads(last.removeprefix(b"data: "))
    assert sent.get("usage") == (whole["usage"] if wanted else None)
    assert (sent["choices"] == []) == wanted


def test_a_request_is_read() -> None:
    body = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "Working directory: /w"},
            {"role": "user", "content": [{"type": "text", "text": "Go."}]},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
        ],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}}],
    }
    tools = (Tool("bash", frozenset({"command"})),)
    assert chat.read(json.dumps(body).encode()) == Asked("m", True, ("Go.",), 1, "/w", tools, usage_chunk=True)
