"""The log: numbered, bounded, one line an event."""

from __future__ import annotations

import json
import os
from typing import Any

from sandbox.egress.journal import MAX_COUNTED, Journal
from sandbox.egress.report import read


def written(journal_of: Any) -> list[bytes]:
    """Through a real pipe, read to its end."""
    out, into = os.pipe()
    chunks = []
    journal_of(Journal(into, max_lines=5))
    os.close(into)
    while piece := os.read(out, 65536):
        chunks.append(piece)
    os.close(out)
    return b"".join(chunks).splitlines()


def refuse(journal: Journal, host: str) -> None:
    journal.verdict(allowed=False, listener="general", method="GET", host=host, path="/", reason="no", status=403)


def test_lines_are_numbered_without_a_gap() -> None:
    def events(journal: Journal) -> None:
        journal.ready()
        refuse(journal, 'a.test\n\u2028"')
        journal.answer(listener="model", status=200, complete=True, count=7)
        journal.trouble("hook", "ValueError")
        journal.fetch_dropped()
        journal.fatal("words")

    lines = written(events)
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert [json.loads(line)["event"] for line in lines] == [
        "ready",
        "verdict",
        "answer",
        "trouble",
        "fetch-dropped",
        "fatal",
    ]
    assert all(line.isascii() for line in lines)


def test_a_client_that_asks_in_a_loop_cannot_fill_the_log() -> None:
    def events(journal: Journal) -> None:
        for number in range(1000):
            refuse(journal, f"host{number % 40}.test")
        journal.fetch_dropped()

    lines = written(events)
    assert len(lines) < 5 + MAX_COUNTED * 10
    report = read(lines)
    assert report.gaps == 0
    assert report.fetch_dropped
    assert 500 <= sum(blocked.count for blocked in report.blocked) <= 1000
