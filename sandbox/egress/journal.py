"""The log of the egress: one JSON line an event on standard output, numbered without a gap, bounded in every way.

No body, no header and no exception text is ever in a line: they may hold a secret.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict

from sandbox.egress.usage import Used

# 20,000 lines of at most 1 KiB stay well inside the engine's log of 16 MB x 4, so the first verdicts are never
# rotated away by a client that asks in a loop.
MAX_LINES = 20_000
# Beyond that, events are counted for this many hosts by name and for all others together.
MAX_COUNTED = 32
OTHERS = "others"


class Journal:
    """Writes are synchronous: where nobody takes the log, nothing goes out either."""

    def __init__(self, fd: int = 1, *, max_lines: int = MAX_LINES) -> None:
        self._fd, self._left = fd, max_lines
        self._seq = 0
        self._more: dict[tuple[str, str], int] = {}

    def verdict(
        self, *, allowed: bool, listener: str, method: str, host: str, path: str, reason: str, status: int
    ) -> None:
        """One a request, CONNECT or refused dial."""
        self._bounded(
            host if not allowed else "",
            event="verdict", allowed=allowed, listener=listener, method=method, host=host, path=path, reason=reason,
            status=status,
        )  # fmt: skip

    def answer(
        self, *, listener: str, status: int, complete: bool, count: int, usage: Used | None = None, model: str = ""
    ) -> None:
        """A model's response has ended; ``complete`` only if it ended as its protocol says. ``usage`` is None where it
        did not tell."""
        self._bounded(
            "", event="answer", listener=listener, status=status, complete=complete, bytes=count,
            usage=None if usage is None else asdict(usage), model=model,
        )  # fmt: skip

    def breach(self, of: str, limit: float) -> None:
        """A bound of the budget has been reached, and nothing goes out any more. Once; no bound on lines holds it
        back."""
        self._line(event="breach", of=of, limit=limit)

    def trouble(self, where: str, kind: str) -> None:
        """Something failed inside. ``kind`` is the type of an exception, never its text."""
        self._bounded("", event="trouble", where=where[:64], kind=kind[:64])

    def ready(self) -> None:
        self._line(event="ready")

    def fetch_dropped(self) -> None:
        self._line(event="fetch-dropped")

    def setup_closed(self) -> None:
        self._line(event="setup-closed")

    def fatal(self, words: str) -> None:
        """The last line before exit status 1. ``words`` are constants of this program."""
        self._line(event="fatal", words=words)

    def _bounded(self, host: str, /, **facts: object) -> None:
        if self._left > 0:
            self._left -= 1
            self._line(**facts)
            return
        key = (str(facts["event"]), host)
        if key not in self._more and len(self._more) >= MAX_COUNTED:
            key = (key[0], OTHERS)
        count = self._more[key] = self._more.get(key, 0) + 1
        if count & (count - 1) == 0:  # at 1, 2, 4, 8, ...: the log stays short and off by a factor of two at most
            self._line(event="more", of=key[0], host=key[1], count=count)

    def _line(self, **facts: object) -> None:
        self._seq += 1
        data = json.dumps({"seq": self._seq, **facts}, ensure_ascii=True).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._fd, data) :]
