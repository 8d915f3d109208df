from __future__ import annotations

import pytest

from sandbox.agents import gateway_words
from sandbox.agents.pi_events import Block, Message
from sandbox.agents.pi_words import cause, failure, is_refusal


def message(reason: str, error: str | None = None, raw: str | None = None, text: str = "") -> Message:
    blocks = [Block(type="text", text=text)] if text else []
    return Message(role="assistant", content=blocks, stopReason=reason, rawStopReason=raw, errorMessage=error)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("401 no", gateway_words.by_status(401)),
        ("429: no", gateway_words.by_status(429)),
        ("OpenAI API error (503): no", gateway_words.by_status(503)),
        ("400 the credit balance is too low", gateway_words.NO_CREDITS),
        ('429: {"code":"insufficient_quota"}', gateway_words.NO_CREDITS),
        ("400 prompt is too long: 9 tokens", gateway_words.TOO_MUCH),
        ("Request timed out.", gateway_words.LATE),
        ("terminated: Body Timeout Error (UND_ERR_BODY_TIMEOUT)", gateway_words.LATE),
        ("terminated: other side closed (UND_ERR_SOCKET)", gateway_words.BROKEN),
        ("Connection error.: connect ECONNREFUSED 127.0.0.1:9001", gateway_words.BROKEN),
        ("Anthropic stream ended before message_stop", gateway_words.BROKEN),
        ('{"error": {"type": "overloaded_error"}}', gateway_words.by_status(529)),
        ("something 401 new", gateway_words.UNSAID),
        ("4010 apples", gateway_words.UNSAID),
        ("", gateway_words.UNSAID),
    ],
)
def test_an_error_is_told_with_who_can_help(said: str, sentence: str) -> None:
    assert failure(message("error", said)).startswith(sentence)


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ('401 {"error": {"message": "bad key"}}', "bad key"),
        ('401: {"message": "bad key"}', "bad key"),
        ("401 <html>", "401 <html>"),
        ("401 {broken", "401 {broken"),
    ],
)
def test_the_gateways_own_words_are_taken_out_of_their_json(said: str, quoted: str) -> None:
    assert failure(message("error", said)).endswith(f"The agent said: {quoted}")


@pytest.mark.parametrize("raw", ["refusal", "content_filter", "sensitive"])
def test_a_refusal_is_the_providers_signal_and_quotes_the_model(raw: str) -> None:
    refused = message("error", "The model refused to complete the request", raw, "I will not.")
    assert is_refusal(refused)
    assert failure(refused) == f"{gateway_words.REFUSAL} The agent said: I will not."
    assert not is_refusal(message("stop", raw="end_turn", text="I refuse."))


@pytest.mark.parametrize(("said", "why"), [("429: no", "status 429"), ("503 x", "status 503"), ("closed", "no answer")])
def test_the_cause_of_a_retry_is_a_status_or_that_there_was_no_answer(said: str, why: str) -> None:
    assert cause(said) == why
