"""Standard input: the first line holds policy and secrets, later lines are orders, the end of it is ignored."""

from __future__ import annotations

import asyncio
import json
import os
import select
import time
from collections.abc import Callable

from sandbox.egress import reach
from sandbox.egress.credentials import Credentials
from sandbox.egress.journal import Journal
from sandbox.egress.reach import Policy

# CA bundles may be in it; the largest public one is 0.3 MB.
MAX_LINE_BYTES = 2 * 2**20


def first_line(fd: int, seconds: float) -> tuple[bytes, bytes]:
    """The first line, and what was read beyond it. Raises ``ValueError`` where there is none in time."""
    buffer, deadline = bytearray(), time.monotonic() + seconds
    while b"\n" not in buffer:
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(fd, 64 * 2**10) if ready else b""
        if not piece or len(buffer) > MAX_LINE_BYTES:
            raise ValueError("no policy on standard input")
        buffer += piece
    line, _, rest = bytes(buffer).partition(b"\n")
    return line, rest


def parse(line: bytes) -> tuple[Policy, Credentials]:
    """Raises ``ValueError`` with words that hold nothing of the line itself."""
    try:
        given = json.loads(line)
    except ValueError:
        raise ValueError("the first line is no JSON") from None
    if not isinstance(given, dict) or set(given) != {"policy", "secrets"} or not isinstance(given["secrets"], dict):
        raise ValueError("the first line must have exactly: policy, secrets")
    if not isinstance(given["policy"], dict):
        raise ValueError("the policy is no object")
    rules = reach.parse(given["policy"])
    return rules, Credentials(given["secrets"], rules)


class Orders:
    """Later lines of standard input. What is not understood is reported and does nothing."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        rest: bytes,
        *,
        drop_fetch: Callable[[], None],
        close_setup: Callable[[], None],
        journal: Journal,
    ) -> None:
        """``rest`` is what was read beyond the first line; it is obeyed at once, the remainder as it comes."""
        self._loop, self._fd, self._drop_fetch, self._journal = loop, fd, drop_fetch, journal
        self._close_setup = close_setup
        self._buffer = rest
        self._obey()
        loop.add_reader(fd, self._readable)

    def _readable(self) -> None:
        piece = os.read(self._fd, 64 * 2**10)
        if not piece or len(self._buffer) > MAX_LINE_BYTES:
            self._loop.remove_reader(self._fd)
            return
        self._buffer += piece
        self._obey()

    def _obey(self) -> None:
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            try:
                order = json.loads(line)
            except ValueError:
                order = None
            if order == {"do": "drop-fetch"}:
                self._drop_fetch()
                self._journal.fetch_dropped()
            elif order == {"do": "close-setup"}:
                self._close_setup()
                self._journal.setup_closed()
            else:
                self._journal.trouble("orders", "unknown")
