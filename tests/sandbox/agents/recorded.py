"""What the real CLIs printed (tests/streams), and what a reader makes of it."""

from __future__ import annotations

from pathlib import Path

from sandbox.agents import Reader

STREAMS = Path(__file__).parent.parent.parent / "streams"


def stream(agent: str, name: str) -> bytes:
    """All that it wrote to its standard output."""
    return (STREAMS / f"{agent}-{name}.jsonl").read_bytes()


def names(agent: str) -> set[str]:
    """Of all its streams."""
    return {path.stem.removeprefix(f"{agent}-") for path in STREAMS.glob(f"{agent}-*.jsonl")}


def read(reader: Reader, *chunks: bytes) -> Reader:
    """To the end."""
    for chunk in chunks:
        reader.feed(chunk)
    reader.finish()
    return reader


def facts(reader: Reader) -> tuple[object, ...]:
    """All that is known of a run."""
    return (
        reader.final,
        reader.error,
        reader.refused,
        reader.reply,
        reader.usage,
        reader.progress,
        reader.bad_lines,
        reader.notes,
    )
