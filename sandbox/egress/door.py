"""The sockets that sandboxes talk to: bounded in number, in the size of a request's head, and able to refuse at once.

A Door stands between one client connection and mitmproxy, as both its reader and its writer. mitmproxy itself answers
a refused request only after it has read (and kept) the whole body; a Door answers now, and throws the rest away.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

# An agent's CLI holds a handful of connections; a fetch holds one or two.
MAX_CONNECTIONS = 64
# Head of one request. Claude Code's is under 2 KiB; nginx takes 32 KiB. Read in pieces of up to 64 KiB.
MAX_HEAD_BYTES = 128 * 2**10
# What a refused client may still send while it reads the refusal, before it is cut off.
LINGER_BYTES = 16 * 2**20
LINGER_SECONDS = 5
# One that sends nothing for this long is not sending a body.
LINGER_IDLE_SECONDS = 0.5
# No answer: the client is asked for its body.
_GO_ON = b"HTTP/1.1 100 "
_PIECE = 64 * 2**10
# A host name of the longest kind, and the words around it.
MAX_PHRASE_CHARS = 400
# Their clients are tools that show a refusal's first line at most.
_TOLD_FIRST = frozenset({"general", "setup"})

_WORDS = {
    400: "Bad Request", 403: "Forbidden", 405: "Method Not Allowed", 413: "Content Too Large",
    415: "Unsupported Media Type", 421: "Misdirected Request", 431: "Request Header Fields Too Large",
    502: "Bad Gateway", 503: "Service Unavailable",
}  # fmt: skip


def refusal(status: int, reason: str, *, head: bool = False, first: bool = False) -> bytes:
    """A whole HTTP/1.1 response in words. text/plain, because that is what git shows to people.

    ``first``: also in its first line, which is all that pip and npm show.
    """
    body = f"{reason}\n".encode("ascii", "replace")
    phrase = "".join(char if " " <= char <= "~" else "?" for char in reason[:MAX_PHRASE_CHARS]) if first else ""
    lines = [
        f"HTTP/1.1 {status} {phrase or _WORDS.get(status, 'Refused')}",
        "content-type: text/plain; charset=utf-8",
        f"content-length: {len(body)}",
        "cache-control: no-store",
        "connection: close",
        "",
        "",
    ]
    return "\r\n".join(lines).encode("ascii") + (b"" if head else body)


def listener_of(peername: Any) -> str:
    """To mitmproxy a client's peer name is its door's name: (listener, number)."""
    return str(peername[0])


class Door:
    """One client connection. Everything that mitmproxy calls on a StreamReader and a StreamWriter, and ``refuse``."""

    def __init__(self, name: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self._reader, self._writer = reader, writer
        self.seal: Callable[[bytes], bytes] | None = None
        """How words get into the TLS that this connection's tunnel has come to; None where there is none."""
        self.counted: Callable[[int], None] | None = None
        """Told the size of every piece of a body that is kept; it refuses through this door what is too much."""
        self._head_bytes = 0
        self._in_request = False
        self._answering = False
        self._refused = False
        self._muted = False
        self._closed = False

    def head_seen(self) -> None:
        """The head of a request is complete: what follows is its body."""
        self._in_request, self._answering = True, False

    def body_seen(self) -> None:
        """The body is complete: what follows is the next head, and mitmproxy keeps it until it gets to it."""
        self._in_request, self._head_bytes, self.counted = False, 0, None

    def refuse(self, status: int, reason: str, *, head: bool = False) -> None:
        """Answer now; from here on mitmproxy can write nothing to this client. Once only, and not after close.

        Where an answer has already begun, words would be taken for a part of it: then the connection is cut.
        """
        if self._answering:
            self.cut()
        elif not self._closed and not self._refused:
            words = refusal(status, reason, head=head, first=self.name[0] in _TOLD_FIRST)
            self._refused = True
            self._writer.write(self.seal(words) if self.seal is not None else words)

    def fail(self, status: int, reason: str) -> None:
        """As ``refuse``; but of an answer that has begun, what was written still goes out, and nothing after it."""
        if self._answering:
            self._muted = True
        else:
            self.refuse(status, reason)

    def cut(self) -> None:
        """Close without a word, in the middle of whatever it is."""
        self._closed = True
        self._writer.transport.abort()

    def end(self) -> None:
        """Close because something broke. One that has been refused is closing already, and may still read why."""
        if not self._refused:
            self.cut()

    async def read(self, size: int) -> bytes:
        if self._refused:
            return b""
        data = await self._reader.read(size)
        if not self._in_request:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.refuse(431, "the head of the request is too long")
                return b""
        elif self.counted is not None:
            self.counted(len(data))
            return b"" if self._refused or self._closed else data
        return data

    def write(self, data: bytes) -> None:
        if not self._refused and not self._muted and not self._closed:
            self._answering = self._answering or not data.startswith(_GO_ON)
            self._writer.write(data)

    async def drain(self) -> None:
        if not self._closed:
            await self._writer.drain()

    def write_eof(self) -> None:
        if not self._refused and not self._closed:
            self._writer.write_eof()

    def close(self) -> None:
        """mitmproxy is done. A refused client keeps its connection until ``finish`` has let it read."""
        if not self._refused and not self._closed:
            self._closed = True
            self._writer.close()

    def is_closing(self) -> bool:
        return self._refused or self._closed or self._writer.is_closing()

    def get_extra_info(self, key: str, default: Any = None) -> Any:
        """mitmproxy wants addresses; a Unix socket has none, so a door's name stands in."""
        return {"peername": self.name, "sockname": (self.name[0], 0)}.get(key, default)

    async def finish(self) -> None:
        """Let a refused client read its refusal, then close. Returns within ``LINGER_SECONDS``."""
        try:
            if self._refused:
                async with asyncio.timeout(LINGER_SECONDS):
                    await self._linger()
        except (OSError, TimeoutError):
            pass
        finally:
            self._closed = True
            self._writer.close()

    async def _linger(self) -> None:
        """Closing a socket with unread bytes in it resets it, and the client would never see the answer."""
        left = LINGER_BYTES
        while left > 0:
            async with asyncio.timeout(LINGER_IDLE_SECONDS):
                data = await self._reader.read(_PIECE)
            if not data:
                return
            left -= len(data)


class Doors:
    """All listeners of one sandbox and all their connections."""

    def __init__(self) -> None:
        self._doors: dict[tuple[str, int], Door] = {}
        self._servers: list[asyncio.Server] = []
        self._count = 0

    def get(self, name: Any) -> Door | None:
        return self._doors.get(name)

    async def listen(self, listener: str, path: Path, serve: Callable[[Door], Awaitable[None]]) -> None:
        """Listen on ``path``; every uid may connect (who sees the volume is decided by who mounts it)."""

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._count += 1
            door = Door((listener, self._count), reader, writer)
            if len(self._doors) >= MAX_CONNECTIONS:
                door.refuse(503, "too many connections from this sandbox")
                await door.finish()
                return
            self._doors[door.name] = door
            try:
                await serve(door)
            finally:
                await door.finish()
                del self._doors[door.name]

        # start_unix_server removes a socket that an earlier process left at this path.
        self._servers.append(await asyncio.start_unix_server(accepted, path))
        os.chmod(path, 0o666)  # noqa: S103 - see above

    def cut_all(self, listener: str) -> None:
        for door in [door for door in self._doors.values() if door.name[0] == listener]:
            door.cut()

    def close(self) -> None:
        """Stop listening; connections that are open run on."""
        for server in self._servers:
            server.close()
