"""What the readers of all agents' output have in common: lines, what is shown of them, and what is noted. Pure.

A reader of one CLI is a ``LineReader`` that knows what a line means: its ``take``.
"""

from __future__ import annotations

from sandbox.agents.lines import LineSplitter
from sandbox.job import Progress, Usage

# For one line of a status comment each; the words are the start of what the agent said last.
MAX_TOOL_CHARS = 60
MAX_FILE_CHARS = 200
MAX_WORDS_CHARS = 300
# GitHub's longest comment: of a longer reply nothing more could be shown.
MAX_REPLY_CHARS = 65_536
MAX_SESSION_CHARS = 100

REPOSITORY = "/ws/repo/"


class LineReader:
    """``sandbox.agents.agent.Reader`` but for ``take``. Its heirs set the attributes below."""

    def __init__(self, unread: tuple[bytes, ...] = (), unmissed: tuple[bytes, ...] = ()) -> None:
        """How lines begin that are of no use, and how those that are of no use where they are very long."""
        self.final = False
        self.error = ""
        self.refused = False
        self.reply = ""
        self.usage = Usage()
        self.progress = Progress()
        self.retries = 0
        """How often the CLI said that it asks the model again."""
        self.retry_cause = ""
        """Why, the last time: ``status 429``, ``no answer``."""
        self._lines = LineSplitter(unread=unread, unmissed=unmissed)
        self._refused = 0

    def take(self, line: bytes) -> bool:
        """Read one line. False where it is no event of this CLI: it is counted then. Must not raise."""
        raise NotImplementedError

    @property
    def bad_lines(self) -> int:
        """See ``Reader.bad_lines``."""
        return self._refused + self._lines.skipped

    @property
    def notes(self) -> tuple[str, ...]:
        """See ``Reader.notes``."""
        return (*self._note_reply(), *self._note_retries(), *self._note_lines())

    def feed(self, chunk: bytes) -> None:
        """See ``Reader.feed``."""
        for line in self._lines.feed(chunk):
            self._refused += not self.take(line)

    def finish(self) -> None:
        """See ``Reader.finish``."""
        for line in self._lines.finish():
            self._refused += not self.take(line)

    def show(self, *, tool: str = "", file: str = "", words: str = "") -> None:
        """Set what the agent does now; empty: as it was. A tool without a file has none, rather than the last one's."""
        before = self.progress
        self.progress = Progress(
            last_tool=tool[:MAX_TOOL_CHARS] or before.last_tool,
            last_file=_within(file)[:MAX_FILE_CHARS] if tool else before.last_file,
            last_words=words.strip()[:MAX_WORDS_CHARS] or before.last_words,
        )

    def fail(self, error: str) -> None:
        """The first error stays: anything in the container can write a later one. Of a failed run there is no reply."""
        self.error = self.error or error
        if self.error:
            self.reply = ""

    def _note_reply(self) -> tuple[str, ...]:
        if self.final and not self.error and not self.reply.strip():
            return ("The agent ended without a final reply.",)
        return ()

    def _note_retries(self) -> tuple[str, ...]:
        if not self.retries:
            return ()
        times = "once" if self.retries == 1 else f"{self.retries} times"
        return (f"The agent had to ask the model again {times} (last: {self.retry_cause}).",)

    def _note_lines(self) -> tuple[str, ...]:
        if not self.bad_lines:
            return ()
        return (f"Lines of the agent's output that could not be read and were skipped: {self.bad_lines}.",)


def _within(path: str) -> str:
    """A tool's file as a path in the repository."""
    return path.removeprefix(REPOSITORY)


def more(
    used: Usage,
    *,
    turns: int,
    fresh: tuple[int | None, ...],
    cached: int | None,
    output: tuple[int | None, ...],
    cost: float | None,
    priced: bool,
) -> Usage:
    """``used`` and what one answer of the model took. Not ``priced``: the CLI does not know its price, and then the sum
    is unknown too."""
    known = priced and (used.turns is None or used.cost_usd is not None)
    return used.model_copy(
        update={
            "turns": (used.turns or 0) + turns,
            "input_tokens": _sum(used.input_tokens, *fresh),
            "cached_input_tokens": _sum(used.cached_input_tokens, cached),
            "output_tokens": _sum(used.output_tokens, *output),
            "cost_usd": (used.cost_usd or 0.0) + (cost or 0.0) if known else None,
        }
    )


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None
