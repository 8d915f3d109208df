"""A loop is known by what is said to the model, not by bytes."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.egress.question import digest

USER = {"role": "user", "content": "Write notes"}
MODEL = {"role": "assistant", "content": "I "}
CALL = {"type": "function_call", "call_id": "1", "name": "x", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "1", "output": "done"}


def body(name: str, *said: Any) -> dict[str, Any]:
    return {"model": "m", name: list(said)}


@pytest.mark.parametrize(
    ("api", "name"), [("anthropic-messages", "messages"), ("openai-chat", "messages"), ("openai-responses", "input")]
)
def test_what_the_model_has_said_since_does_not_make_it_another(api: str, name: str) -> None:
    first = digest(api, body(name, USER))
    assert first == digest(api, body(name, USER, MODEL)) == digest(api, body(name, USER, MODEL, MODEL))
    assert first != digest(api, body(name, USER, MODEL, USER))
    assert first != digest(api, {**body(name, USER), "model": "other"})
    assert digest(api, body(name)) == digest(api, body(name, MODEL))


def test_a_tools_result_is_said_to_the_model_and_a_call_by_it() -> None:
    asked = digest("openai-responses", body("input", USER))
    assert asked == digest("openai-responses", body("input", USER, {"type": "reasoning"}, CALL))
    assert asked != digest("openai-responses", body("input", USER, CALL, RESULT))
    tool = {"role": "tool", "tool_call_id": "1", "content": "done"}
    assert digest("openai-chat", body("messages", USER, MODEL, tool)) != digest("openai-chat", body("messages", USER))


@pytest.mark.parametrize("odd", [None, "a text", 1, {}, [1], [None, MODEL], ["x"]])
def test_whatever_the_shape_there_is_a_digest(odd: Any) -> None:
    for api in ("anthropic-messages", "openai-responses", "openai-chat"):
        assert digest(api, {"messages": odd, "input": odd}) == digest(api, {"input": odd, "messages": odd})
