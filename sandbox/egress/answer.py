"""Has the model's answer come whole? Pure: watches the bytes of one response go by and keeps almost none."""

from __future__ import annotations

import re

# The last event of a stream, by its name line or by its data; a text inside a delta cannot look like it, because a
# line break inside JSON is written as two characters. An answer that met its bound of tokens has come whole too.
_LAST = {
    "anthropic-messages": re.compile(rb'[\r\n](?:event: ?message_stop\s|data: ?\{ ?"type": ?"message_stop")'),
    "openai-responses": re.compile(
        rb"[\r\n](?:event: ?response\.(?:completed|incomplete)\s"
        rb'|data: ?\{ ?"type": ?"response\.(?:completed|incomplete)")'
    ),
    "openai-chat": re.compile(rb"[\r\n]data: ?\[DONE\]\s"),
}
# Longer than anything that _LAST matches, so that it is found across the ends of chunks.
_TAIL = 64


class Answer:
    """``feed`` every chunk. ``complete`` may be asked at any time."""

    __slots__ = ("_last", "_stopped", "_tail", "count", "status", "stream")

    def __init__(self, status: int, content_type: str, api: str = "anthropic-messages") -> None:
        self.status = status
        self.count = 0
        self._last = _LAST[api]
        self.stream = content_type.partition(";")[0].strip().lower() == "text/event-stream"
        self._stopped = False
        self._tail = b"\n"

    def feed(self, chunk: bytes) -> None:
        self.count += len(chunk)
        if self.stream and not self._stopped:
            seen = self._tail + chunk
            self._stopped = self._last.search(seen) is not None
            self._tail = seen[-_TAIL:]

    def complete(self, *, framed: bool) -> bool:
        """``framed``: HTTP's own framing reached its end. A stream is whole once its last event has gone by."""
        return 200 <= self.status < 300 and (self._stopped if self.stream else framed)
