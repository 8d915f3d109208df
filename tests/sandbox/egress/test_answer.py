"""When a model's answer counts as whole."""

from __future__ import annotations

import pytest

from sandbox.egress.answer import Answer

STREAM = "text/event-stream; charset=utf-8"
START = b'event: message_start\ndata: {"type":"message_start"}\n\n'
STOPS = [
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    b'event:message_stop\r\ndata:{"type": "message_stop"}\r\n\r\n',
    b'data: {"type":"message_stop"}\n\n',
]


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_is_whole_with_its_last_event(stop: bytes, size: int) -> None:
    answer, data = Answer(200, STREAM), START + stop
    for at in range(0, len(data), size):
        answer.feed(data[at : at + size])
    assert answer.complete(framed=True)
    assert answer.complete(framed=False), "the client may hang up as soon as it has that event"
    assert answer.count == len(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        START,
        START + b'event: error\ndata: {"type":"error"}\n\n',
        START + b'data: {"delta":{"text":"event: message_stop"}}\n\n',
        START + b'data: {"delta":{"text":"\\nevent: message_stop\\n"}}\n\n',
        START + b"event: message_sto",
        START + b"event: message_stopped\n",
    ],
)
def test_a_stream_without_its_last_event_is_not(data: bytes) -> None:
    answer = Answer(200, STREAM)
    answer.feed(data)
    assert not answer.complete(framed=True)


@pytest.mark.parametrize(
    ("status", "framed", "whole"), [(200, True, True), (200, False, False), (500, True, False), (0, True, False)]
)
def test_other_answers_are_whole_when_their_framing_is(status: int, framed: bool, whole: bool) -> None:
    answer = Answer(status, "application/json")
    answer.feed(b"{}")
    assert answer.complete(framed=framed) is whole


ENDS = {
    "openai-responses": [
        b'event: response.completed\ndata: {"type":"response.completed","response":{}}\n\n',
        b'data: {"type":"response.incomplete","response":{}}\n\n',
    ],
    "openai-chat": [b"data: [DONE]\n\n", b"data:[DONE]\r\n\r\n"],
}
BEFORE = b'data: {"type":"response.created"}\n\ndata: {"choices":[{"delta":{"content":"data: [DONE]\\n"}}]}\n\n'


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("api", ENDS)
def test_each_api_has_its_own_last_event(api: str, size: int) -> None:
    for other, ends in ENDS.items():
        for end in ends:
            answer, data = Answer(200, STREAM, api), BEFORE + end
            for at in range(0, len(data), size):
                answer.feed(data[at : at + size])
            assert answer.complete(framed=True) is (other == api)


@pytest.mark.parametrize("event", [b"response.failed", b"response.completedx", b"response.created"])
def test_a_response_that_failed_is_none(event: bytes) -> None:
    answer = Answer(200, STREAM, "openai-responses")
    answer.feed(b'event: %s\ndata: {"type":"%s"}\n\n' % (event, event))
    assert not answer.complete(framed=True)
