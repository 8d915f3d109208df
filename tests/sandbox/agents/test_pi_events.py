from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.agents.pi_events import (
    MAX_BLOCKS,
    AgentStart,
    Event,
    MessageEnd,
    Other,
    Retry,
    Session,
    Settled,
    ToolStart,
    parse,
)

ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "a"}], "stopReason": "stop"}


def read(value: Any) -> Event | None:
    return parse(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"type": "session", "id": "s"}, Session),
        ({"message": ANSWER, "type": "message_end"}, MessageEnd),  # keys come in any order
        ({"type": "message_end", "message": {"role": "toolResult", "content": 7}}, Other),
        ({"type": "tool_execution_start", "toolName": "bash", "args": {"command": "x"}}, ToolStart),
        ({"type": "auto_retry_start", "errorMessage": "429"}, Retry),
        ({"type": "agent_start"}, AgentStart),
        ({"type": "agent_settled", "aborted": False, "new": 1}, Settled),
        ({"type": "of_tomorrow"}, Other),
    ],
)
def test_a_line_is_read_by_its_type(value: dict[str, Any], kind: type[Any]) -> None:
    assert isinstance(read(value), kind)


@pytest.mark.parametrize(
    "value",
    [
        7,
        [],
        {},
        {"type": 7},
        {"type": "session"},
        {"type": "agent_settled"},
        {"type": "agent_settled", "aborted": "false"},
        {"type": "message_end", "message": {**ANSWER, "content": "a"}},
        {"type": "message_end", "message": {**ANSWER, "stopReason": None}},
        {"type": "message_end", "message": {**ANSWER, "content": [{"type": "text"}] * (MAX_BLOCKS + 1)}},
        {"type": "tool_execution_start", "toolName": {}},
    ],
)
def test_what_is_not_shaped_as_its_type_demands_is_refused(value: Any) -> None:
    assert read(value) is None


def test_malformed_figures_are_unknown_and_do_not_cost_the_answer() -> None:
    usage = {"input": -1, "output": True, "cacheRead": "9", "cacheWrite": 2.5, "cost": {"total": float("inf")}}
    for given in (usage, 7, {"input": 2**60, "cost": "free"}):
        event = read({"type": "message_end", "message": {**ANSWER, "usage": given}})
        assert isinstance(event, MessageEnd)
        tokens = event.message.usage
        assert tokens is None or (tokens.input, tokens.cost and tokens.cost.total) == (None, None)


def test_a_tools_path_is_shown_only_where_it_is_text() -> None:
    event = read({"type": "tool_execution_start", "toolName": "write", "args": {"path": 7}})
    assert isinstance(event, ToolStart)
    assert event.args is not None
    assert event.args.path is None
