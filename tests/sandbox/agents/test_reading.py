"""What all readers have in common, with a format of one key."""

from __future__ import annotations

import json

import pytest

from sandbox.agents.lines import MAX_LINE_BYTES
from sandbox.agents.reading import LineReader
from sandbox.agents.shaped import load
from sandbox.job import Progress


class Reader(LineReader):
    def take(self, line: bytes) -> bool:
        value = load(line)
        if value is None:
            return False
        self.show(tool=value.get("tool", ""), file=value.get("file", ""), words=value.get("words", ""))
        self.final = "final" in value
        return True


def line(**value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def test_what_is_shown_is_the_latest_of_everything() -> None:
    reader = Reader()
    reader.feed(line(tool="Write", file="/ws/repo/a/b.py") + line(words="  I think. \n") + line())
    assert reader.progress == Progress(last_tool="Write", last_file="a/b.py", last_words="I think.")
    reader.feed(line(tool="Bash"))
    assert reader.progress == Progress(last_tool="Bash", last_file="", last_words="I think.")


@pytest.mark.parametrize(("times", "words"), [(1, "once"), (2, "2 times")])
def test_retries_are_noted(times: int, words: str) -> None:
    reader = Reader()
    reader.retries, reader.retry_cause = times, "status 429"
    assert reader.notes == (f"The agent had to ask the model again {words} (last: status 429).",)


def test_an_end_without_a_reply_is_noted_and_so_are_lines_that_could_not_be_read() -> None:
    reader = Reader()
    reader.feed(b"junk\n" + b"x" * (MAX_LINE_BYTES + 1) + b"\n" + line(final=1)[:-1])
    assert not reader.final
    reader.finish()
    reader.finish()
    assert reader.bad_lines == 2
    assert reader.notes == (
        "The agent ended without a final reply.",
        "Lines of the agent's output that could not be read and were skipped: 2.",
    )
