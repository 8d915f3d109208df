"""Why a run of OpenCode failed, in words for the one who asked. Pure."""

from __future__ import annotations

from sandbox.agents import gateway_words
from sandbox.agents.gateway_words import by_status, quoting
from sandbox.agents.opencode_events import Failure, Said

_BY_NAME = {
    "ContentFilterError": gateway_words.REFUSAL,
    "ContextOverflowError": gateway_words.TOO_MUCH,
    "MessageOutputLengthError": gateway_words.TOO_LONG,
    "MessageAbortedError": "The agent was interrupted before it was done.",
}
# No field tells these; a piece of the text is all there is. The last ones are error events within an answer's stream.
_BY_TEXT = {
    "Cannot connect to API": gateway_words.BROKEN,
    "Connection reset by server": gateway_words.BROKEN,
    "Provider response headers timed out": gateway_words.LATE,
    "SSE read timed out": gateway_words.LATE,
    "JSON parsing failed": "The model gateway sent something that is no answer of a model: the operator should look at"
    " it.",
    "Unexpected server error": "The agent's program failed within itself: the operator should check the model's name.",
    '"overloaded_error"': by_status(529),
    '"rate_limit_error"': by_status(429),
    '"api_error"': by_status(500),
}
# What some gateways say with a 400 or a 429 where the money is gone.
_NO_CREDITS = ("credit balance is too low", "insufficient_quota", "exceeded your current quota")
_REFUSED = frozenset({"content-filter", "ContentFilterError"})


def is_refusal(word: str) -> bool:
    """Whether a step's reason, or an error's name, says that the model refused."""
    return word in _REFUSED


def ended(reason: str) -> str:
    """What is wrong with a run whose last step ended for ``reason`` and that reported no error; "" for nothing."""
    if reason == "length":
        return gateway_words.TOO_LONG
    return gateway_words.REFUSAL if is_refusal(reason) else ""


def failure(error: Failure) -> str:
    """An error event in words."""
    said = error.data or Said()
    return quoting(_sentence(error.name, said), said.message)


def _sentence(name: str, said: Said) -> str:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if any(words in said.message.lower() for words in _NO_CREDITS):
        return gateway_words.NO_CREDITS
    if said.statusCode is not None:
        return by_status(said.statusCode)
    return next((words for piece, words in _BY_TEXT.items() if piece in said.message), gateway_words.UNSAID)
