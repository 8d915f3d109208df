from __future__ import annotations

import pytest

from sandbox.agents.gateway_words import UNSAID
from sandbox.agents.opencode_events import Failure, Said
from sandbox.agents.opencode_words import ended, failure, is_refusal


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        ("APIError", Said(message="no", statusCode=401), "(401)"),
        ("APIError", Said(message="Your credit balance is too low", statusCode=400), "no credits left"),
        ("APIError", Said(message="You exceeded your current quota, see", statusCode=429), "no credits left"),
        ("APIError", Said(message="Cannot connect to API: closed"), "connection to the model gateway broke"),
        ("APIError", Said(message="Connection reset by server"), "connection to the model gateway broke"),
        ("APIError", Said(message="Provider response headers timed out after 5000ms"), "did not answer in time"),
        ("APIError", Said(message="SSE read timed out"), "did not answer in time"),
        ("UnknownError", Said(message="JSON parsing failed: x"), "no answer of a model"),
        ("UnknownError", Said(message='{"type":"overloaded_error"}'), "overloaded (529)"),
        ("UnknownError", Said(message='{"type":"api_error"}'), "failed (500)"),
        ("UnknownError", Said(message="Unexpected server error. Check server logs"), "check the model's name"),
        ("ContextOverflowError", Said(message="prompt is too long"), "grew too large"),
        ("ContentFilterError", None, "refused this request"),
        ("MessageOutputLengthError", None, "longer than the output limit"),
        ("MessageAbortedError", None, "interrupted"),
        ("Else", None, UNSAID),
    ],
)
def test_every_failure_that_was_seen_says_what_happened(name: str, said: Said | None, words: str) -> None:
    assert words in failure(Failure(name=name, data=said))


def test_a_run_that_reported_nothing_may_have_failed_all_the_same() -> None:
    assert "output limit" in ended("length")
    assert "refused" in ended("content-filter")
    assert ended("stop") == ended("tool-calls") == ended("unknown") == ended("") == ""


def test_a_refusal_is_the_providers_word_for_it() -> None:
    assert is_refusal("content-filter")
    assert is_refusal("ContentFilterError")
    assert not is_refusal("stop")
