"""The sockets in front of mitmproxy: they refuse at once, and are bounded."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

from sandbox.egress.door import MAX_CONNECTIONS, MAX_HEAD_BYTES, Door, Doors, refusal

WAIT_SECONDS = 20


async def talk(path: Path, serve: Callable[[Door], Awaitable[None]], send: bytes) -> bytes:
    """One client that sends all it has and reads until the end, be it a hard one."""
    doors = Doors()
    await doors.listen("model", path, serve)
    reader, writer = await asyncio.open_unix_connection(str(path))
    got = bytearray()

    async def push() -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(send)
            await writer.drain()

    async def pull() -> None:
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(65536):
                got.extend(piece)

    async with asyncio.timeout(WAIT_SECONDS):
        await asyncio.gather(push(), pull())
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    doors.close()
    return bytes(got)


async def test_a_refusal_comes_at_once_and_the_rest_of_the_body_is_thrown_away(tmp_path: Path) -> None:
    async def serve(door: Door) -> None:
        await door.read(65536)
        door.refuse(403, "no")
        door.refuse(403, "twice")
        door.write(b"what mitmproxy says later")
        assert await door.read(65536) == b""
        door.close()

    got = await talk(tmp_path / "s", serve, bytes(8 * 2**20))
    assert got == refusal(403, "no")


async def test_a_client_that_never_stops_sending_is_cut_off(tmp_path: Path) -> None:
    async def serve(door: Door) -> None:
        await door.read(65536)
        door.refuse(403, "no")

    assert (await talk(tmp_path / "s", serve, bytes(64 * 2**20))).startswith(b"HTTP/1.1 403")


async def test_e29_a_head_without_an_end_is_refused(tmp_path: Path) -> None:
    read: list[int] = []

    async def serve(door: Door) -> None:
        while data := await door.read(65536):
            read.append(len(data))

    got = await talk(tmp_path / "s", serve, b"x" * (4 * MAX_HEAD_BYTES))
    assert got.startswith(b"HTTP/1.1 431 ")
    assert sum(read) <= MAX_HEAD_BYTES


async def test_a_body_may_be_longer_than_a_head(tmp_path: Path) -> None:
    read: list[int] = []

    async def serve(door: Door) -> None:
        door.head_seen()
        while sum(read) < 4 * MAX_HEAD_BYTES:
            read.append(len(await door.read(65536)))
        door.body_seen()
        door.write(b"done")
        door.close()

    assert await talk(tmp_path / "s", serve, b"x" * (4 * MAX_HEAD_BYTES)) == b"done"


async def test_words_are_never_put_into_an_answer_that_has_begun(tmp_path: Path) -> None:
    async def serve(door: Door) -> None:
        door.head_seen()
        door.write(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        await door.drain()
        door.refuse(403, "no")

    assert b"403" not in await talk(tmp_path / "s", serve, b"x")


async def test_connections_are_bounded(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def serve(door: Door) -> None:
        await gate.wait()

    doors = Doors()
    await doors.listen("model", tmp_path / "s", serve)
    held = [await asyncio.open_unix_connection(str(tmp_path / "s")) for _ in range(MAX_CONNECTIONS)]
    reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
    async with asyncio.timeout(WAIT_SECONDS):
        assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
    gate.set()
    for _, each in [*held, (reader, writer)]:
        each.close()
    doors.close()


async def test_every_uid_may_connect_and_an_old_socket_is_replaced(tmp_path: Path) -> None:
    path, modes = tmp_path / "s", list[int]()

    async def serve(door: Door) -> None:
        modes.append(stat.S_IMODE(path.stat().st_mode))
        door.refuse(403, door.name[0])

    with socket.socket(socket.AF_UNIX) as old:  # as a killed egress leaves it
        old.bind(str(path))
    got = await talk(path, serve, b"")
    assert got.endswith(b"\r\n\r\nmodel\n")
    assert modes == [0o666]
