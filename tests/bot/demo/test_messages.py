from __future__ import annotations

import json
from typing import Any

import pytest

from bot.demo import messages
from bot.demo.say import STATUSES, Call, Say

SAYINGS = [
    Say(),
    Say("Nothing to do, really."),
    Say(" spaces  and\nnewlines \n"),
    Say(call=Call("Bash", {"command": "true"})),
    Say("First\twords.", Call("Write", {"file_path": "/x", "content": "ü\n"})),
    Say("Cut", stop="max_tokens"),
    Say("No.", stop="refusal"),
]


def added_up(events: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """What a client makes of a stream."""
    whole: dict[str, Any] = {}
    partial = ""
    for name, data in events:
        assert data["type"] == name
        if name == "message_start":
            whole = dict(data["message"], content=[])
        elif name == "content_block_start":
            whole["content"].append(dict(data["content_block"]))
        elif name == "content_block_delta" and data["delta"]["type"] == "text_delta":
            whole["content"][data["index"]]["text"] += data["delta"]["text"]
        elif name == "content_block_delta":
            partial += data["delta"]["partial_json"]
        elif name == "content_block_stop" and whole["content"][data["index"]]["type"] == "tool_use":
            whole["content"][data["index"]]["input"] = json.loads(partial)
        elif name == "message_delta":
            whole |= {**data["delta"], "usage": data["usage"]}
    return whole


@pytest.mark.parametrize("say", SAYINGS, ids=repr)
def test_a_stream_adds_up_to_the_answer_that_is_not_streamed(say: Say) -> None:
    whole = messages.whole(say, "m")
    events = list(messages.events(whole))
    assert added_up(events) == whole
    assert (events[0][0], events[-1][0]) == ("message_start", "message_stop")


def test_a_call_ends_with_tool_use_whatever_else_was_asked() -> None:
    assert messages.whole(Say(call=Call("X", {}), stop="max_tokens"), "m")["stop_reason"] == "tool_use"


def test_an_event_is_one_block_of_two_lines() -> None:
    assert (
        messages.encode("ping", {"type": "ping", "x": "a\nb"})
        == b'event: ping\ndata: {"type": "ping", "x": "a\\nb"}\n\n'
    )


@pytest.mark.parametrize("status", STATUSES)
def test_a_failure_has_the_shape_of_the_api(status: int) -> None:
    sent, body = messages.failure(str(status))
    assert sent == status
    assert body["type"] == "error"
    assert set(body["error"]) == {"type", "message"}
