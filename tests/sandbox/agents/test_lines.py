from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.agents.lines import MAX_LINE_BYTES, LineSplitter


def split(chunks: Iterable[bytes], keep: int = MAX_LINE_BYTES) -> tuple[list[bytes], int]:
    splitter = LineSplitter(keep)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    lines += splitter.finish()
    return lines, splitter.skipped


@pytest.mark.parametrize(
    ("stream", "lines", "skipped"),
    [
        (b"", [], 0),
        (b"\n\n", [], 0),
        (b"a\nb\n", [b"a", b"b"], 0),
        (b"a\nb", [b"a", b"b"], 0),
        (b"a\r\n", [b"a\r"], 0),
        (b"12345\n123456\n7\n", [b"12345", b"7"], 1),
        (b"123456", [], 1),
        (b"123456\n1234567\n", [], 2),
        (b"a\0b\n\xff", [b"a\0b", b"\xff"], 0),
    ],
)
def test_lines_of_a_stream(stream: bytes, lines: list[bytes], skipped: int) -> None:
    assert split([stream], keep=5) == (lines, skipped)


@given(st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"123456\n", b""])))
def test_where_the_chunks_are_cut_makes_no_difference(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    expected = [line for line in whole.split(b"\n") if line and len(line) <= 5]
    too_long = sum(len(line) > 5 for line in whole.split(b"\n"))
    assert split(chunks, keep=5) == split([whole], keep=5) == (expected, too_long)
    assert split((whole[i : i + 1] for i in range(len(whole))), keep=5) == (expected, too_long)


def test_finish_gives_nothing_the_second_time() -> None:
    splitter = LineSplitter()
    assert list(splitter.feed(b"a")) == []
    assert list(splitter.finish()) == [b"a"]
    assert list(splitter.finish()) == []


@pytest.mark.parametrize("newline_every", [0, 12 * 2**20], ids=["one endless line", "lines of 12 MB"])
def test_b98_memory_stays_bounded_on_a_stream_of_500_mb(newline_every: int) -> None:
    """Three chunks and the longest line kept are all it may ever hold."""
    chunk = b"x" * (1 << 16)
    sent = 0
    splitter = LineSplitter()
    tracemalloc.start()
    try:
        for _ in range(500 * 2**20 // len(chunk)):
            sent += len(chunk)
            ends = newline_every and sent % newline_every == 0
            assert list(splitter.feed(chunk[:-1] + b"\n" if ends else chunk)) == []
        assert tracemalloc.get_traced_memory()[1] < 2 * MAX_LINE_BYTES + 3 * len(chunk)
    finally:
        tracemalloc.stop()
    assert list(splitter.feed(b"\nlast\n")) == [b"last"]
    assert splitter.skipped > 0


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_lines_that_are_not_to_be_read_are_left_out_and_not_counted_however_long(size: int) -> None:
    stream = b"drop me\nkeep\ndrop" + b"x" * 100 + b"\nkeep" + b"x" * 100 + b"\ndr\n"
    splitter = LineSplitter(keep=20, unread=(b"drop", b"other"))
    lines = [line for at in range(0, len(stream), size) for line in splitter.feed(stream[at : at + size])]
    assert lines == [b"keep", b"dr"]
    assert splitter.skipped == 1


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_lines_that_nobody_misses_are_read_where_they_are_short_and_not_counted_where_they_are_long(size: int) -> None:
    stream = b"long one\nlong" + b"x" * 100 + b"\nother" + b"x" * 100 + b"\n"
    splitter = LineSplitter(keep=20, unmissed=(b"long",))
    lines = [line for at in range(0, len(stream), size) for line in splitter.feed(stream[at : at + size])]
    assert lines == [b"long one"]
    assert splitter.skipped == 1
