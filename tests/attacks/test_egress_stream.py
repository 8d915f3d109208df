"""B100 and the answers: what streams must stream, and an answer counts only when it came whole."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.sandbox.egress.rig import STOP, Arrived, Egress, Exchange, StandIn, World, policy_for, post, stream

pytestmark = pytest.mark.engine

WAIT_SECONDS = 20


@pytest.fixture(scope="module")
def egress(here: World, model: StandIn) -> Egress:
    return here.start(policy_for(model))


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/x-ndjson", "application/grpc-web"])
def test_b100_a_token_reaches_the_client_before_the_next_is_sent(
    egress: Egress, model: StandIn, content_type: str
) -> None:
    """The client says through a second request that it has the first chunk; only then is the second one sent."""
    seen, in_time = threading.Event(), []

    def slowly(request: Arrived, send: Callable[[bytes], None]) -> None:
        if "count_tokens" in request.line:
            seen.set()
            send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            return
        send(f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        send(b"7\r\nfirst\n\n\r\n")
        in_time.append(seen.wait(WAIT_SECONDS))
        send(b"8\r\nsecond\n\n\r\n0\r\n\r\n")

    model.answering = slowly
    signal = Exchange(post("/v1/messages/count_tokens"), until=b"{}")
    answer = egress.say(post("/v1/messages"), until=b"0\r\n\r\n", then=signal, then_when=b"first")
    assert in_time == [True]
    assert answer.then is not None
    assert answer.then.status == 200
    assert answer.data.index(b"first") < answer.data.index(b"second")


def last_answer(egress: Egress) -> dict[str, object]:
    return [fact for fact in egress.log() if fact["event"] == "answer"][-1]


def test_a_whole_event_stream_counts_as_an_answer(egress: Egress, model: StandIn) -> None:
    model.answering = stream(b"event: ping\ndata: {}\n\n", STOP[:20], STOP[20:])
    before = egress.report().model_answers
    egress.say(post("/v1/messages?beta=true"), until=b"0\r\n\r\n")
    assert last_answer(egress)["complete"] is True
    assert egress.report().model_answers == before + 1


def test_counting_tokens_is_no_answer(egress: Egress, model: StandIn) -> None:
    model.answering = stream(STOP)
    before = egress.report().model_answers
    egress.say(post("/v1/messages/count_tokens"), until=b"0\r\n\r\n")
    assert egress.report().model_answers == before


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
def test_an_answer_cut_in_its_middle_does_not_count(egress: Egress, model: StandIn, content_type: str) -> None:
    def cut(request: Arrived, send: Callable[[bytes], None]) -> None:
        send(f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        send(b"7\r\nfirst\n\n\r\n")
        raise ValueError("cut")

    model.answering = cut
    before = egress.report().model_answers
    egress.say(post("/v1/messages"))
    assert last_answer(egress)["complete"] is False
    assert egress.report().model_answers == before


@pytest.mark.parametrize("status", [400, 401, 402, 429, 500, 529])
def test_an_error_of_the_model_passes_in_its_own_words_and_does_not_count(
    egress: Egress, model: StandIn, status: int
) -> None:
    def failing(request: Arrived, send: Callable[[bytes], None]) -> None:
        send(
            b"HTTP/1.1 %d No\r\ncontent-type: application/json\r\nretry-after: 7\r\ncontent-length: 9\r\n\r\n" % status
        )
        send(b'{"e":"x"}')

    model.answering = failing
    before = egress.report().model_answers
    answer = egress.say(post("/v1/messages"))
    assert (answer.status, answer.text) == (status, '{"e":"x"}')
    assert b"retry-after: 7" in answer.data.lower()
    assert egress.report().model_answers == before


def test_keep_alive_uses_one_connection_each_way(egress: Egress, model: StandIn) -> None:
    model.answering = stream(STOP)
    model.forget()
    answer = egress.say(post("/v1/messages") + post("/v1/messages"), until=b"0\r\n\r\nHTTP/1.1 200")
    assert answer.data.count(b"HTTP/1.1 200") == 2
    assert (len(model.requests), model.connections) == (2, 1)
