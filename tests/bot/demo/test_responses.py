from __future__ import annotations

import json
from typing import Any

import pytest

from bot.demo import responses
from bot.demo.asked import Asked, Tool
from bot.demo.say import Call, Say

SAYINGS = [
    Say(),
    Say("Nothing to do, really."),
    Say(call=Call("exec_command", {"cmd": "true"})),
    Say("First.", Call("apply_patch", {}, "*** Begin Patch\n")),
    Say("Cut", stop="max_tokens"),
    Say("No.", stop="refusal"),
]


def added_up(events: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The items that a client makes of a stream's pieces."""
    items: list[dict[str, Any]] = []
    for name, data in events:
        if name == "response.output_item.added":
            items.append(dict(data["item"], status="completed"))
        elif name == "response.content_part.added":
            items[-1]["content"] = [dict(data["part"])]
        elif name.endswith(".delta") and "content_index" in data:
            part = items[-1]["content"][0]
            part["text" if "text" in part else "refusal"] += data["delta"]
        elif name.endswith(".delta"):
            items[-1]["input" if "input" in items[-1] else "arguments"] += data["delta"]
    return items


@pytest.mark.parametrize("say", SAYINGS, ids=repr)
def test_a_stream_adds_up_to_the_answer_that_is_not_streamed(say: Say) -> None:
    whole = responses.whole(say, "m")
    events = list(responses.events(whole))
    assert added_up(events) == whole["output"]
    assert events[0][0] == "response.created"
    assert events[-1] == (f"response.{whole['status']}", {**events[-1][1], "response": whole})
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    assert all(data["type"] == name for name, data in events)


def test_only_an_answer_that_was_cut_off_is_incomplete() -> None:
    assert responses.whole(Say("x", stop="max_tokens"), "m")["status"] == "incomplete"
    assert responses.whole(Say("x", Call("t", {}), stop="max_tokens"), "m")["status"] == "completed"


def test_a_request_of_codex_is_read() -> None:
    body = {
        "model": "gpt-5.5",
        "stream": True,
        "instructions": "You are a coding agent.",
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "# AGENTS.md instructions x"}],
            },
            {"role": "user", "content": [{"type": "input_text", "text": "<environment_context><cwd>/w</cwd>"}]},
            {"role": "user", "content": "Go."},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
            {"type": "function_call_output", "call_id": "d", "output": [{"type": "input_text", "text": "ok"}]},
        ],
        "tools": [
            {"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}}}},
            {"type": "custom", "name": "apply_patch"},
            {"type": "web_search"},
        ],
    }
    tools = (Tool("exec_command", frozenset({"cmd"})), Tool("apply_patch", custom=True), Tool("web_search"))
    assert responses.read(json.dumps(body).encode()) == Asked("gpt-5.5", True, ("Go.",), 2, "/w", tools)


def test_tools_may_come_in_the_input_and_in_name_spaces() -> None:
    inner = [{"type": "custom", "name": "exec"}]
    item = {"type": "additional_tools", "tools": [{"type": "namespace", "name": "functions", "tools": inner}]}
    asked = responses.read(json.dumps({"model": "m", "input": [item], "tools": None}).encode())
    assert asked.tools == (Tool("exec", custom=True),)


def test_a_text_alone_is_a_request() -> None:
    assert responses.read(b'{"model": "m", "input": "Go."}').typed == ("Go.",)
