"""Every agent's reader on streams of any length: its memory stays what it was."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

import pytest

from sandbox.agents import AGENTS
from tests.sandbox.agents.recorded import stream

MEBIBYTE = 2**20
PIECE_BYTES = 65536
# A line is held (1 MiB), decoded and parsed; of JSON that is text, three times its bytes.
MAX_GROWTH_BYTES = 12 * MEBIBYTE


def long_stream(name: str, size: int) -> Iterator[bytes]:
    """A run as it was recorded, over and over, with a long line, one that is too long and a broken one in between."""
    recorded = stream(name, "ok")
    long = json.dumps({"type": "news", "text": "x" * (MEBIBYTE - 100)}).encode() + b"\n"
    block = recorded * (MEBIBYTE // 8 // len(recorded) + 1) + long + b"y" * 3 * MEBIBYTE + b"\n" + b'{"type":\n'
    for _ in range(size // len(block) + 1):
        for at in range(0, len(block), PIECE_BYTES):
            yield block[at : at + PIECE_BYTES]
    yield recorded.rstrip(b"\n")


@pytest.mark.parametrize("size", [40 * MEBIBYTE, pytest.param(500 * MEBIBYTE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", AGENTS)
def test_memory_does_not_grow_with_the_stream_and_its_end_is_read(name: str, size: int) -> None:
    reader = AGENTS[name].reader()
    fed = 0
    tracemalloc.start()
    try:
        for piece in long_stream(name, size):
            reader.feed(piece)
            fed += len(piece)
        reader.finish()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert fed > size
    assert peak < MAX_GROWTH_BYTES + 6 * MEBIBYTE  # the block that is fed from is among it
    assert reader.final
    assert reader.reply == "Done: I wrote NOTES.md and pointed to it from README.md."
    assert reader.bad_lines > size // (6 * MEBIBYTE)
