"""Cut a stream of bytes into lines, whatever their length, in bounded memory.

Agents write lines of megabytes and the one that matters is the last, so a line that is too long is scanned past and
counted, and reading goes on behind it (asyncio's own reader stops at 64 KiB). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

# Claude Code cuts tool output to 50 kB a line; a file it edits may be in a line whole, and no such line is needed.
# The final event holds one reply, a few hundred kB at the very most. Parsed JSON takes up to 25 times its bytes.
MAX_LINE_BYTES = 1 << 20
# The longest beginning by which a line is known to be of no use has some forty bytes.
MAX_BEGINNING = 64


class LineSplitter:
    """Feed it chunks cut anywhere; it gives back whole lines without their newline, empty ones left out.

    Holds at most ``keep`` bytes of an unfinished line, and nothing of one that has grown beyond that. Lines that begin
    with one of ``unread`` are left out, whatever their length, and not counted; too long ones that begin with one of
    ``unmissed`` are not counted either.
    """

    def __init__(
        self, keep: int = MAX_LINE_BYTES, unread: tuple[bytes, ...] = (), unmissed: tuple[bytes, ...] = ()
    ) -> None:
        self._keep = keep
        self._unread = unread
        self._no_loss = unread + unmissed
        self._held = bytearray()
        self._too_long = False
        self._unwanted = False
        self.skipped = 0
        """Lines longer than ``keep`` that have been passed over, the unfinished one not among them."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that end in ``chunk``. Must be iterated to its end before the next call."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            if end > start or self._held or self._too_long:
                self._hold(chunk, start, end)
                yield from self._end()
            start = end + 1
        self._hold(chunk, start, len(chunk))

    def finish(self) -> Iterator[bytes]:
        """The last line, where it lacks its newline. Nothing the second time."""
        yield from self._end()

    def _hold(self, chunk: bytes, start: int, end: int) -> None:
        if self._too_long or len(self._held) + end - start > self._keep:
            if not self._too_long:
                begins = bytes(self._held[:MAX_BEGINNING]) + chunk[start : min(end, start + MAX_BEGINNING)]
                self._unwanted = begins.startswith(self._no_loss)
            self._too_long = True
            self._held = bytearray()  # not clear(): that would keep the capacity
        else:
            self._held += memoryview(chunk)[start:end]

    def _end(self) -> Iterator[bytes]:
        line, self._held = bytes(self._held), bytearray()
        if self._too_long:
            self.skipped += not self._unwanted
            self._too_long = False
        elif line and not line.startswith(self._unread):
            yield line
