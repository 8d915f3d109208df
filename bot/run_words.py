"""What ``gofer run`` says on a person's terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from bot.verdict_words import counted
from sandbox import Outcome, Status

Say = Callable[[str], None]


def summary(outcome: Outcome) -> str:
    """The last lines on stderr. The agent's words are shown with control characters escaped: this is a terminal."""
    usage, changes = outcome.usage, outcome.changes
    parts = [f"{outcome.state.value} after {outcome.duration_seconds:.1f} s"]
    if changes is not None:
        parts.append(f"{counted(len(changes.files), 'file')} changed")
    if usage.turns is not None:
        parts.append(counted(usage.turns, "turn"))
    if usage.cost_usd is not None:
        parts.append(f"${usage.cost_usd:.4f}")
    lines = [", ".join(parts)]
    lines += [f"reason: {printable(outcome.error)}"] if outcome.error else []
    lines += [f"agent: {printable(outcome.reply)}"] if outcome.reply else []
    lines += (
        [f"not taken: {counted(changes.ignored_count, 'ignored new file')}"]
        if changes and changes.ignored_count
        else []
    )
    lines += [f"refused: {changes.refusal}"] if changes and changes.refusal else []
    lines += [f"blocked: {printable(b.host)} ({counted(b.count, 'time')})" for b in outcome.blocked]
    lines += [f"note: {printable(note)}" for note in (*outcome.notes, *(changes.notes if changes else ()))]
    return "\n".join(lines)


def printable(text: str) -> str:
    """``text`` without anything that a terminal would obey: controls and invisible characters are spelled out."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)


def working(status: Status) -> str:
    """One progress line; changes only when there is something new to say."""
    progress = status.progress
    doing = " ".join(part for part in (progress.last_tool, progress.last_file) if part)
    return f"working: {printable(doing)[:200]}" if doing else f"working, {status.elapsed_seconds:.0f} s"


def stderr_teller() -> Say:
    """Says each line on stderr with the seconds since the start."""
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - began:6.1f} s] {line}", file=sys.stderr, flush=True)

    return say
