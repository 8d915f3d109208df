"""Why a run of Codex failed, in words for the one who asked. Pure.

This CLI has no codes: what went wrong is in its text alone, of which these are the fixed parts (0.171.0).
"""

from __future__ import annotations

import re

from sandbox.agents import gateway_words
from sandbox.agents.gateway_words import by_status, quoting

_RETRY = re.compile(r"Reconnecting\.\.\.(?: \d+/\d+)?\s*(?:\((?P<cause>.*)\))?", re.DOTALL)
_STATUS = re.compile(r"\b(?:unexpected status|last status:) (\d{3})\b")
# The address is the sandbox's own relay's, and the number nobody here can look up.
_FOR_ITS_MAKERS = re.compile(r",? (?:url: http://127\.0\.0\.1|request id: )[^\s,)]*")
# Of 400 and 404 the CLI passes on the gateway's words alone.
_NO_MODEL = re.compile(r"\bmodel\b.*\b(?:does not exist|not found|no such model)\b", re.IGNORECASE | re.DOTALL)

_BY_WORDS = (
    ("reason: content_filter", gateway_words.REFUSAL),
    ("reason: max_output_tokens", gateway_words.TOO_LONG),
    ("ran out of room in the model's context window", gateway_words.TOO_MUCH),
    ("Quota exceeded", gateway_words.NO_CREDITS),
    ("currently experiencing high demand", "The model gateway failed through all retries: try again later."),
    ("at capacity", "The model was overloaded through all retries: try again later."),
    ("idle timeout", gateway_words.LATE),
    ("stream disconnected", gateway_words.BROKEN),
    ("Connection failed", gateway_words.BROKEN),
    ("error sending request", gateway_words.BROKEN),
)


def is_retry(message: str) -> bool:
    """Whether an ``error`` event only says that the model is asked again."""
    return _RETRY.match(message) is not None


def cause(message: str) -> str:
    """Why the model is asked again, for a note: a status, or that there was no whole answer."""
    found = _STATUS.search(message)
    return f"status {found[1]}" if found else "no whole answer"


def is_refusal(message: str) -> bool:
    """Whether the provider's own filter ended it."""
    return _BY_WORDS[0][0] in message


def failure(message: str) -> str:
    """The error of a failed run in words; never empty."""
    found = _STATUS.search(message)
    sentence = by_status(int(found[1])) if found else _sentence(message)
    return quoting(sentence, _FOR_ITS_MAKERS.sub("", message))


def _sentence(message: str) -> str:
    if _NO_MODEL.search(message):
        return by_status(404)
    return next((words for part, words in _BY_WORDS if part in message), gateway_words.UNSAID)
