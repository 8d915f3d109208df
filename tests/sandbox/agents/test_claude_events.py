from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.agents.claude_events import Assistant, Other, Result, Retry, parse
from sandbox.agents.shaped import MAX_COUNT

RESULT: dict[str, Any] = {
    "subtype": "success",
    "type": "result",
    "is_error": False,
    "num_turns": 2,
    "result": "Done.",
    "usage": {"input_tokens": 1, "output_tokens": 2},
    "total_cost_usd": 0.5,
}


def result(**changed: Any) -> bytes:
    return json.dumps({**RESULT, **changed}).encode()


@pytest.mark.parametrize(
    "line",
    [
        b"{not json",
        b"[]",
        b"7",
        b'"result"',
        b"null",
        b"{}",
        b'{"type": 1}',
        b'{"type": ["result"]}',
        b"[" * 100_000,
        b'{"type":"x","n":' + b"9" * 5000 + b"}",
        b'{"type": "result"}',
        result(is_error="false"),
        result(is_error=None),
        result(is_error=0),
        result(num_turns="2"),
        result(num_turns=-1),
        result(num_turns=2**70),
        result(result=["Done."]),
        result(api_error_status="401"),
        b'{"type": "assistant"}',
        b'{"type": "assistant", "message": {"content": "text"}}',
        b'{"type": "assistant", "message": {"content": [' + b'{"type":"x"},' * 100 + b'{"type":"x"}]}}',
        b'{"type": "assistant", "message": {"content": [{"type": "text", "text": 1}]}}',
        b'{"type": "system", "subtype": "api_retry", "error_status": "500"}',
    ],
    ids=lambda line: line[:60].decode(),
)
def test_a_line_that_is_not_what_its_type_demands_is_refused(line: bytes) -> None:
    assert parse(line) is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (result(), Result),
        (result(something_new={"a": [1]}), Result),
        (b'{"message": {"content": []}, "type": "assistant"}', Assistant),
        (b'{"type": "system", "subtype": "api_retry", "error_status": null}', Retry),
        (b'{"type": "system", "subtype": "init"}', Other),
        (b'{"type": "system", "subtype": "result"}', Other),
        (b'{"type": "system"}', Other),
        (b'{"type": "user", "message": 1}', Other),
        (b'  {"type": "news"}\r', Other),
    ],
)
def test_a_line_is_read_as_its_type(line: bytes, kind: type) -> None:
    assert type(parse(line)) is kind


@pytest.mark.parametrize("cost", ["free", -1, 1e300, float("nan"), float("inf")])
def test_a_malformed_figure_is_unknown_and_does_not_cost_the_final_event(cost: object) -> None:
    event = parse(result(total_cost_usd=cost, usage={"input_tokens": MAX_COUNT + 1, "output_tokens": True}))
    assert isinstance(event, Result)
    assert event.total_cost_usd is None
    assert event.usage is not None
    assert (event.usage.input_tokens, event.usage.output_tokens) == (None, None)
    assert event.result == "Done."


def test_b25_nul_and_lone_surrogates_do_not_cost_the_line() -> None:
    event = parse(result(result="a\0b\ud800c\U0001f600").replace(b"Done", b"\xff"))
    assert isinstance(event, Result)
    assert event.result == "ab\ufffdc\U0001f600"
    event.result.encode()


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    event = parse(result().replace(b"Done", b"D\xff"))
    assert isinstance(event, Result)
    assert event.result == "D\ufffd."
