"""What answers say that they cost, however they come; and never an exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.egress.usage import MAX_EVENT_BYTES, Reader, Used, estimate

STREAM = "text/event-stream; charset=utf-8"


def events(*data: Any) -> bytes:
    return b"".join(b"event: x\ndata: " + json.dumps(one).encode() + b"\n\n" for one in data)


MESSAGES = events(
    {"type": "message_start", "message": {"usage": {
        "input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 1}}},
    {"type": "content_block_delta", "delta": {"text": '"message_delta" {"usage":{"output_tokens":999}}'}},
    {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 50}},
    {"type": "message_stop"},
)  # fmt: skip
RESPONSES = events(
    {"type": "response.created", "response": {"usage": None}},
    {"type": "response.output_text.delta", "delta": '{"type":"response.completed","response":{"usage":{}}}'},
    {"type": "response.completed", "response": {"instructions": "x" * 100_000, "usage": {
        "input_tokens": 210, "input_tokens_details": {"cached_tokens": 200}, "output_tokens": 50}}},
)  # fmt: skip
CHAT = events(
    {"choices": [{"delta": {"content": '"usage"'}}], "usage": None},
    {"choices": [], "usage": {
        "prompt_tokens": 210, "prompt_tokens_details": {"cached_tokens": 200}, "completion_tokens": 50}},
) + b"data: [DONE]\n\n"  # fmt: skip


def read(api: str, kind: str, data: bytes, size: int) -> Used | None:
    reader = Reader(api, kind)
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    return reader.used()


@pytest.mark.parametrize("size", [1, 13, 4096, 10**7])
@pytest.mark.parametrize(
    ("api", "data", "used"),
    [
        ("anthropic-messages", MESSAGES, Used(10, 200, 30, 50)),
        ("openai-responses", RESPONSES, Used(10, 200, 0, 50)),
        ("openai-chat", CHAT, Used(10, 200, 0, 50)),
        ("openai-chat", CHAT.replace(b"\n", b"\r\n"), Used(10, 200, 0, 50)),
    ],
)
def test_a_stream_tells_it_in_its_own_events(api: str, data: bytes, used: Used, size: int) -> None:
    if size > 1 or len(data) < 5_000:
        assert read(api, STREAM, data, size) == used


@pytest.mark.parametrize(
    ("api", "answer", "used"),
    [
        ("anthropic-messages", {"usage": {"input_tokens": 3, "output_tokens": 4}}, Used(3, 0, 0, 4)),
        ("openai-responses", {"usage": {"input_tokens": 3, "output_tokens": 4}}, Used(3, 0, 0, 4)),
        ("openai-chat", {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}, Used(3, 0, 0, 4)),
    ],
)
def test_a_whole_answer_tells_it_too(api: str, answer: Any, used: Used) -> None:
    assert read(api, "application/json", json.dumps(answer).encode(), 7) == used


def test_a_stream_that_is_cut_has_told_what_it_had_told() -> None:
    assert read("anthropic-messages", STREAM, MESSAGES[:180], 64) == Used(10, 200, 30, 1)
    assert read("openai-responses", STREAM, RESPONSES[:200], 64) is None


@pytest.mark.parametrize("bad", [-1, 1.5, True, "7", None, [], 2**60])
def test_a_figure_that_is_none_counts_nothing(bad: Any) -> None:
    answer = {"usage": {"input_tokens": bad, "output_tokens": 4, "cache_read_input_tokens": bad}}
    assert read("anthropic-messages", "application/json", json.dumps(answer).encode(), 99) == Used(output=4)


def test_an_event_without_an_end_takes_no_memory_and_hides_nothing_after_it() -> None:
    reader = Reader("anthropic-messages", STREAM)
    for _ in range(3 * MAX_EVENT_BYTES // 2**16):
        reader.feed(b'data: "message_start"' + b"x" * 2**16)
        assert len(reader._line) <= MAX_EVENT_BYTES
    reader.feed(b"\n" + MESSAGES)
    assert reader.used() == Used(10, 200, 30, 50)


@given(st.sampled_from(["anthropic-messages", "openai-responses", "openai-chat"]), st.booleans(), st.data())
def test_whatever_comes_nothing_is_raised(api: str, stream: bool, data: st.DataObject) -> None:
    shapes = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["usage", "type", "message", "response", "input_tokens_details"]), inner)
        ),
        max_leaves=8,
    )
    value = data.draw(shapes)
    reader = Reader(api, STREAM if stream else "application/json")
    reader.feed(b'data: {"usage": "message_start" "response.completed"\n' if stream else b"")
    reader.feed(b"data: " * stream + json.dumps(value).encode() + b"\n")
    reader.feed(data.draw(st.binary(max_size=50)))
    reader.used()


def test_an_answer_that_told_nothing_is_estimated_by_its_bytes() -> None:
    assert estimate(asked_bytes=4_000, told_bytes=4_000, stream=False) == Used(input=1_000, output=1_000)
    assert estimate(asked_bytes=4_000, told_bytes=4_000, stream=True) == Used(input=1_000, output=40)
