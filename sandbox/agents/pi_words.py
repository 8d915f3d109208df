"""Why a run of Pi failed, in words for the one who asked. Pure."""

from __future__ import annotations

import json
import re

from sandbox.agents import gateway_words
from sandbox.agents.gateway_words import by_status, quoting
from sandbox.agents.pi_events import Message

NO_TURN = "The agent ended without asking the model anything."
INTERRUPTED = "The agent was interrupted before it was done."
_UNFINISHED = "The agent ended before it was done."
_GARBAGE = "The model gateway sent something that is no answer of a model: the operator should look at it."
# The provider's own signal; what it says beside it is for its customers.
_REFUSED = frozenset({"refusal", "content_filter", "sensitive"})

_HALF_WAY = "The model gateway failed in the middle of an answer: try again later."
# "401 {...}", "429: {...}" and "OpenAI API error (401): {...}" of its three clients.
_STATUS = re.compile(r"(?:OpenAI API error \()?([45][0-9]{2})\b")
# What some gateways say with a 400 or a 429 where the money is gone.
_NO_CREDITS = ("credit balance is too low", "insufficient_quota", "exceeded your current quota")
_TOO_MUCH = ("prompt is too long", "context_length_exceeded", "maximum context length")
# Without an HTTP status the text is all there is. In the order of asking.
_BY_TEXT = {
    "timed out": gateway_words.LATE,
    "timeout": gateway_words.LATE,
    "overloaded": by_status(529),
    "not valid json": _GARBAGE,
    "could not parse": _GARBAGE,
    "malformed": _GARBAGE,
    "unexpected token": _GARBAGE,
    "server_error": _HALF_WAY,
    "the server had an error": _HALF_WAY,
    "connection error": gateway_words.BROKEN,
    "terminated": gateway_words.BROKEN,
    "stream ended": gateway_words.BROKEN,
    "ended before": gateway_words.BROKEN,
    "ended without": gateway_words.BROKEN,
    "econnrefused": gateway_words.BROKEN,
    "und_err": gateway_words.BROKEN,
}


def is_refusal(message: Message) -> bool:
    """Whether the provider said that the model refused."""
    return message.rawStopReason in _REFUSED


def failure(message: Message) -> str:
    """What is wrong with a run that ended with this message; "" for nothing."""
    if is_refusal(message):
        return quoting(gateway_words.REFUSAL, _text(message))
    match message.stopReason:
        case "stop":
            return ""
        case "length":
            return gateway_words.TOO_LONG
        case "aborted":
            return INTERRUPTED
        case "error":
            said = message.errorMessage or ""
            return quoting(_sentence(said), _plain(said))
        case _:  # it wanted to use a tool, or no end was written
            return _UNFINISHED


def cause(said: str) -> str:
    """Why the model is asked again, for a note: ``status 429``, ``no answer``."""
    status = _STATUS.match(said)
    return f"status {status[1]}" if status else "no answer"


def _sentence(said: str) -> str:
    lower = said.lower()
    if any(words in lower for words in _NO_CREDITS):
        return gateway_words.NO_CREDITS
    if any(words in lower for words in _TOO_MUCH):
        return gateway_words.TOO_MUCH
    if status := _STATUS.match(said):
        return by_status(int(status[1]))
    return next((sentence for words, sentence in _BY_TEXT.items() if words in lower), gateway_words.UNSAID)


def _plain(said: str) -> str:
    """The message in the JSON that the CLI hands on from the provider (``401 {"error": {"message": "…"}}``)."""
    try:
        value = json.loads(said[said.index("{") :])
    except (ValueError, RecursionError):
        return said
    inner = value.get("error") if isinstance(value.get("error"), dict) else value
    message = inner.get("message")
    return message if isinstance(message, str) else said


def _text(message: Message) -> str:
    return " ".join(block.text for block in message.content if block.type == "text")
