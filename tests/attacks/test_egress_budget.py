"""Row E35 on a real egress container: what is used is metered from the wire, and at a bound everything is held."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.egress.meter import Breach
from tests.sandbox.egress.policies import BUDGET
from tests.sandbox.egress.rig import STOP, Arrived, Egress, Exchange, Got, StandIn, World, policy_for, post, stream

pytestmark = pytest.mark.engine

# A held client hears nothing for as long as it waits.
HELD_SECONDS = 1
ALL = ["anthropic-messages", "openai-responses", "openai-chat"]
QUESTION = b'{"model":"m","messages":[{"role":"user","content":"%d"}]}'


def start(here: World, model: StandIn, **budget: Any) -> Egress:
    model.forget()
    return here.start(policy_for(model, apis=ALL, budget={**BUDGET, **budget}))


def ask(number: int = 0, path: str = "/v1/messages") -> Exchange:
    return Exchange(post(path, QUESTION % number), seconds=HELD_SECONDS)


def held(answer: Got) -> bool:
    return (answer.data, answer.error) == (b"", "TimeoutError")


def usage(**figures: int) -> Any:
    body = json.dumps({"usage": figures}).encode()

    def answering(request: Arrived, send: Any) -> None:
        send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)

    return answering


def test_e35_the_question_beyond_the_bound_and_all_later_requests_are_held_without_an_answer(
    here: World, model: StandIn
) -> None:
    """No 401, 403 or 429: a client would take it for the provider's word."""
    model.answering = usage(input_tokens=1, output_tokens=1)
    egress = start(here, model, model_requests=2)
    answers = egress.talk(
        ask(1), ask(0, "/v1/messages/count_tokens"), ask(2), ask(3), ask(4), ask(0, "/v1/messages/count_tokens"),
        Exchange(b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", to="agent/general.sock",
                 seconds=HELD_SECONDS),
        Exchange(post("/v1/files"), seconds=HELD_SECONDS),
    )  # fmt: skip
    assert [answer.status for answer in answers[:3]] == [200, 200, 200]
    assert [held(answer) for answer in answers[3:]] == [True] * 5
    assert len(model.requests) == 3
    report = egress.report()
    assert (report.breach, report.model_requests) == (Breach("model_requests", 2), 2)
    assert [fact["event"] for fact in egress.log()].count("breach") == 1


def test_tokens_are_read_from_every_api_as_it_says_them(here: World, model: StandIn) -> None:
    egress = start(here, model)
    messages = [
        b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3,'
        b'"cache_read_input_tokens":40,"cache_creation_input_tokens":500,"output_tokens":1}}}\n\n',
        b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":6000}}\n\n',
        STOP,
    ]
    completed = {
        "type": "response.completed",
        "response": {"usage": {"input_tokens": 43, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 6}},
    }
    responses = [b"event: response.completed\ndata: " + json.dumps(completed).encode() + b"\n\n"]
    chat = [
        b'data: {"choices":[],"usage":{"prompt_tokens":43,"prompt_tokens_details":{"cached_tokens":40},'
        b'"completion_tokens":6}}\n\n',
        b"data: [DONE]\n\n",
    ]
    for path, events in {
        "/v1/messages": messages, "/v1/responses": responses, "/v1/chat/completions": chat,
    }.items():  # fmt: skip
        model.answering = stream(*events)
        body = b'{"model":"gpt-5","store":false}' if path != "/v1/messages" else QUESTION % 1
        assert egress.say(post(path, body), until=b"0\r\n\r\n").status == 200
    answers = [fact for fact in egress.log() if fact["event"] == "answer"]
    assert [fact["usage"] for fact in answers] == [
        {"input": 3, "cached": 40, "cache_write": 500, "output": 6000},
        {"input": 3, "cached": 40, "cache_write": 0, "output": 6},
        {"input": 3, "cached": 40, "cache_write": 0, "output": 6},
    ]
    assert [fact["model"] for fact in answers] == ["m", "gpt-5", "gpt-5"]
    assert [fact["complete"] for fact in answers] == [True, True, True]


@pytest.mark.slow
def test_e35_a_bound_on_tokens_and_one_on_cost_hold_the_next_question(here: World, model: StandIn) -> None:
    model.answering = usage(input_tokens=600, output_tokens=400)
    prices = {"input": 1000, "cached": 0, "cache_write": 0, "output": 1000}
    for bound, breach in (
        ({"tokens": 1000}, Breach("tokens", 1000)),
        ({"cost_usd": 0.9, "prices": prices}, Breach("cost_usd", 0.9)),
    ):
        egress = start(here, model, **bound)
        first, second = egress.talk(ask(1), ask(2))
        assert (first.status, held(second)) == (200, True)
        assert egress.report().breach == breach
        assert len(model.requests) == 1


@pytest.mark.slow
def test_e35_an_answer_that_the_client_will_not_hear_to_its_end_is_counted_all_the_same(
    here: World, model: StandIn
) -> None:
    model.answering = stream(*[b"data: " + b"x" * 94 + b"\n\n"] * 50)
    egress = start(here, model, tokens=20)
    egress.say(post("/v1/chat/completions", QUESTION % 1), until=b"xxx")
    egress.wait_for("answer")
    assert held(egress.talk(ask(2))[0])
    assert egress.report().breach == Breach("tokens", 20)


def test_a_loop_is_cut_also_where_the_broken_answer_is_sent_along(here: World, model: StandIn) -> None:
    model.answering = stream(b'data: {"type":"message_start"}\n\n')
    egress = start(here, model, same_request=3)
    said = [{"role": "user", "content": "x"}]
    again = []
    for count in range(5):
        body = {"model": "m", "messages": [*said, *[{"role": "assistant", "content": "I "}] * count]}
        again.append(
            Exchange(post("/v1/messages", json.dumps(body).encode()), until=b"0\r\n\r\n", seconds=HELD_SECONDS)
        )
    answers = egress.talk(*again)
    assert [answer.status for answer in answers[:3]] == [200, 200, 200]
    assert [held(answer) for answer in answers[3:]] == [True, True]
    assert (egress.report().breach, len(model.requests)) == (Breach("same_request", 3), 3)


@pytest.mark.slow
def test_a_question_that_fails_may_be_asked_again(here: World, model: StandIn) -> None:
    def failing(request: Arrived, send: Any) -> None:
        send(b"HTTP/1.1 529 No\r\ncontent-length: 0\r\n\r\n")

    model.answering = failing
    egress = start(here, model, same_request=3)
    assert [answer.status for answer in egress.talk(*[ask(1)] * 6)] == [529] * 6
    assert egress.report().breach is None


def test_e35_bytes_are_bounded_in_both_directions(here: World, model: StandIn) -> None:
    bound = 2**20
    model.answering = stream(*[b"x" * 2**16] * 64)
    egress = start(here, model, egress_bytes=bound)
    first, second = egress.talk(ask(1), ask(2))
    assert first.status == 200
    assert len(first.data) < bound + 2**18, "cut in its middle"
    assert held(second)
    assert egress.report().breach == Breach("egress_bytes", bound)
    egress = start(here, model, egress_bytes=bound)
    head = post("/v1/messages", b"").replace(b"length: 0", b"length: %d" % (bound + 12))
    assert held(egress.say(head + b'{"model":"', zeros=bound, of=ord("x"), last=b'"}', seconds=HELD_SECONDS))
    assert model.connections == 0
