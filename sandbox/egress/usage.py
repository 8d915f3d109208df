"""What an answer of the model cost, read from its bytes as they go by. Pure; bounded memory; never raises.

Only events that can hold figures are looked at; each API says them in its own names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

# The last event of Responses repeats instructions and tools, 100 kB and more. One that is longer is not read.
MAX_EVENT_BYTES = 8 * 2**20
MAX_TOKENS = 2**40
# For answers that tell nothing: a token is about four bytes of text, and an event of a stream, which carries one token
# or a few, is 100 bytes and more.
BYTES_A_TOKEN = 4
BYTES_AN_EVENT = 100


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens of one answer. ``input`` is what no cache gave or took."""

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.cached + self.cache_write + self.output


class Reader:
    """``feed`` every chunk, ``used`` at the end; None where the answer told nothing that can be understood."""

    __slots__ = ("_api", "_line", "_lost", "_mark", "_stream", "_used")

    def __init__(self, api: str, content_type: str) -> None:
        self._api = api
        self._stream = content_type.partition(";")[0].strip().lower() == "text/event-stream"
        self._mark = _MARKS[api]
        self._line = bytearray()
        self._lost = False
        self._used: Used | None = None

    def feed(self, chunk: bytes) -> None:
        if not self._stream:
            self._keep(chunk)
            return
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._keep(line)
            self._end()
        self._keep(rest)

    def used(self) -> Used | None:
        """The last word of the answer on it. Also what a stream that was cut had told until then."""
        self._end()
        return self._used

    def _keep(self, data: bytes) -> None:
        if self._lost or len(self._line) + len(data) > MAX_EVENT_BYTES:
            self._lost = True
            self._line.clear()
        else:
            self._line += data

    def _end(self) -> None:
        line, self._line, self._lost = bytes(self._line), bytearray(), False
        if self._stream:
            if not line.startswith(b"data:") or not any(mark in line for mark in self._mark):
                return
            line = line[5:]
        if line.strip():
            self._read(line)

    def _read(self, data: bytes) -> None:
        try:
            told = json.loads(data)
            figures = _figures(self._api, told, self._stream)
            if isinstance(figures, dict):
                self._used = _NORMAL[self._api](figures, self._used or Used())
        except (ValueError, RecursionError, TypeError, AttributeError):
            return


def estimate(*, asked_bytes: int, told_bytes: int, stream: bool) -> Used:
    """For an answer that told nothing, such as one that the client would not hear to its end: it was paid for too."""
    per = BYTES_AN_EVENT if stream else BYTES_A_TOKEN
    return Used(input=asked_bytes // BYTES_A_TOKEN, output=told_bytes // per)


_MARKS: dict[str, tuple[bytes, ...]] = {
    "anthropic-messages": (b'"message_start"', b'"message_delta"'),
    "openai-responses": (b'"response.completed"', b'"response.incomplete"', b'"response.failed"'),
    "openai-chat": (b'"usage"',),
}


def _figures(api: str, told: Any, stream: bool) -> Any:
    """Where the figures are in an event, or in a whole answer."""
    if not stream or api == "openai-chat":
        return told.get("usage")
    if api == "openai-responses":
        return told["response"].get("usage") if str(told.get("type")).startswith("response.") else None
    if told.get("type") == "message_start":
        return told["message"].get("usage")
    return told.get("usage") if told.get("type") == "message_delta" else None


def _messages(figures: dict[str, Any], before: Used) -> Used:
    """``message_delta`` counts from the beginning of the answer and may say less than ``message_start`` did."""
    given = {
        "input": _count(figures.get("input_tokens")),
        "cached": _count(figures.get("cache_read_input_tokens")),
        "cache_write": _count(figures.get("cache_creation_input_tokens")),
        "output": _count(figures.get("output_tokens")),
    }
    return replace(before, **{name: count for name, count in given.items() if count is not None})


def _responses(figures: dict[str, Any], before: Used) -> Used:
    return _openai(figures, "input_tokens", "input_tokens_details", "output_tokens")


def _chat(figures: dict[str, Any], before: Used) -> Used:
    return _openai(figures, "prompt_tokens", "prompt_tokens_details", "completion_tokens")


def _openai(figures: dict[str, Any], given: str, details: str, output: str) -> Used:
    """OpenAI counts cached ones as input too."""
    cached = _count((figures.get(details) or {}).get("cached_tokens")) or 0
    everything = _count(figures.get(given)) or 0
    return Used(input=max(0, everything - cached), cached=cached, output=_count(figures.get(output)) or 0)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < MAX_TOKENS else None


_NORMAL = {"anthropic-messages": _messages, "openai-responses": _responses, "openai-chat": _chat}
