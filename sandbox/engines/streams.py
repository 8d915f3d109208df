"""The attached ends of a container over the engine's hijacked connection, in asyncio and with no thread of its own."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, Protocol

from sandbox import Unreachable

HEADER = struct.Struct(">BxxxL")  # channel, three zero bytes, length: the engine's multiplexing
PIECE_BYTES = 64 * 1024  # read at once; a frame may be longer and then arrives in pieces


class Attached:
    """``sandbox.engine.Stream`` over a socket that a client library has upgraded to a raw stream.

    Safe only for a container that has not been started: what arrived together with the HTTP answer is lost.
    """

    def __init__(self, hijacked: Any) -> None:
        self._kept = hijacked  # the library closes the connection when its own object is collected
        self._socket = socket.socket(fileno=os.dup(hijacked.fileno()))
        self._socket.setblocking(False)
        self._left = 0
        self._channel = 0

    async def write(self, data: bytes) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self._socket, data)
        except OSError as error:
            raise Unreachable(f"the connection to the container broke: {error}") from error

    async def read(self) -> tuple[int, bytes] | None:
        while self._left == 0:
            header = await self._exactly(HEADER.size)
            if header is None:
                return None
            self._channel, self._left = HEADER.unpack(header)
        piece = await self._some(min(self._left, PIECE_BYTES))
        if not piece:
            raise Unreachable("the connection to the container broke inside a frame")
        self._left -= len(piece)
        return self._channel, piece

    def close(self) -> None:
        self._socket.close()
        if (answer := getattr(self._kept, "_response", None)) is not None:
            answer.close()  # first: it flushes what the next line closes
        self._kept.close()

    async def _exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            piece = await self._some(size - len(data))
            if not piece:
                if data:
                    raise Unreachable("the connection to the container broke inside a frame")
                return None
            data += piece
        return data

    async def _some(self, size: int) -> bytes:
        try:
            return await asyncio.get_running_loop().sock_recv(self._socket, size)
        except OSError as error:
            raise Unreachable(f"the connection to the container broke: {error}") from error


class Source(Protocol):
    """The body of an HTTP answer."""

    def read(self, size: int, /) -> bytes: ...


def split_log(source: Source, feed: Callable[[int, bytes], None]) -> None:
    """Take a log answer apart and hand its pieces on as (channel, bytes). Blocking; bounded memory."""
    while header := source.read(HEADER.size):
        channel, left = HEADER.unpack(header)
        while left and (piece := source.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            feed(channel, piece)
