"""What mitmproxy logs as an error, told on without its words: they may hold a secret."""

from __future__ import annotations

import logging

from sandbox.egress.door import Doors
from sandbox.egress.journal import Journal


class Trouble(logging.Handler):
    """mitmproxy's errors: the type alone is told on, and the connection in which it happened ends."""

    def __init__(self, journal: Journal, doors: Doors) -> None:
        super().__init__(logging.ERROR)
        self._journal, self._doors = journal, doors

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        self._journal.trouble(record.name, kind.__name__ if kind is not None else "error")
        if (door := self._doors.get(getattr(record, "client", None))) is not None:
            door.end()
