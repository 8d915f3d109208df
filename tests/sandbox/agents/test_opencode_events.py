from __future__ import annotations

import json

import pytest

from sandbox.agents.opencode_events import Error, Other, StepFinish, StepStart, TextPart, ToolUse, parse
from sandbox.agents.shaped import MAX_COUNT


def line(kind: object, **more: object) -> bytes:
    return json.dumps({"type": kind, **more}).encode()


@pytest.mark.parametrize(
    "bad",
    [
        b"{not json",
        b"[]",
        b"{}",
        b'{"type": 1}',
        b'{"type": ["text"]}',
        b"[" * 100_000,
        line("text"),
        line("text", part={"text": 7}),
        line("text", part="words"),
        line("tool_use", part={}),
        line("step_finish", part={"reason": None}),
        line("error", error={"data": {"message": "no"}}),
        line("error", error="no"),
        line("step_start", sessionID=7),
    ],
)
def test_what_is_not_shaped_as_its_type_demands_is_no_event(bad: bytes) -> None:
    assert parse(bad) is None


@pytest.mark.parametrize(
    ("good", "kind"),
    [
        (line("step_start"), StepStart),
        (line("text", part={"text": "a", "time": {"end": 1}}), TextPart),
        (line("tool_use", part={"tool": "bash", "state": {"status": "completed"}}), ToolUse),
        (line("step_finish", part={"reason": "stop"}), StepFinish),
        (line("error", error={"name": "APIError"}), Error),
        (line("reasoning", part=7), Other),
    ],
)
def test_keys_that_are_not_known_are_let_through(good: bytes, kind: type) -> None:
    assert isinstance(parse(good), kind)


def test_figures_that_make_no_sense_are_unknown_and_cost_nothing() -> None:
    part = {"reason": "stop", "cost": "free", "tokens": {"input": -1, "output": MAX_COUNT + 1, "cache": 3}}
    event = parse(line("step_finish", part=part))
    assert isinstance(event, StepFinish)
    assert event.part.cost is None
    assert event.part.tokens is not None
    assert (event.part.tokens.input, event.part.tokens.output, event.part.tokens.cache) == (None, None, None)


def test_a_tool_whose_input_is_no_object_is_a_tool_all_the_same() -> None:
    event = parse(line("tool_use", part={"tool": "bash", "state": {"input": "ls"}}))
    assert isinstance(event, ToolUse)
    assert event.part.state is not None
    assert event.part.state.input is None
