"""Bodies and long answers are bounded in bytes and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from sandbox.api import bodies
from sandbox.api.asked import Refused
from tests.sandbox.api.memory import TOKEN, served

# Bytes: more than the kernel and both sides hold for a connection.
LONG = 64 * 2**20


@asynccontextmanager
async def reading(reader: bodies.Bodies) -> AsyncIterator[str]:
    """The URL of a server that reads a body of at most a hundred bytes, and says how long it was."""

    async def read(request: web.Request) -> web.Response:
        try:
            return web.Response(text=str(len(await reader.read(request, 100, "too long"))))
        except Refused as refused:
            return web.Response(status=refused.status, text=str(refused))

    app = web.Application()
    app.router.add_post("/", read)
    site = web.AppRunner(app, auto_decompress=False, lingering_time=0.1, shutdown_timeout=0.1)
    await site.setup()
    await web.TCPSite(site, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{site.addresses[0][1]}/"
    finally:
        await site.cleanup()


async def stops(part: bytes, then: asyncio.Event) -> AsyncIterator[bytes]:
    yield part
    await then.wait()


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    never = asyncio.Event()
    async with reading(bodies.Bodies(seconds=0.05)) as url, aiohttp.ClientSession() as session, asyncio.timeout(20):
        async with session.post(url, data=stops(b"do", never)) as response:
            assert response.status == 408
        never.set()


@pytest.mark.parametrize(
    ("size", "headers", "answer"),
    [
        (100, {}, (200, "100")),
        (101, {}, (413, "too long")),
        (1, {"Content-Encoding": "gzip"}, (415, "send the body without Content-Encoding")),
    ],
)
async def test_bodies_up_to_the_bound_and_as_they_are(
    size: int, headers: dict[str, str], answer: tuple[int, str]
) -> None:
    async with (
        reading(bodies.Bodies()) as url,
        aiohttp.ClientSession() as session,
        session.post(url, data=b"x" * size, headers=headers) as response,
    ):
        assert (response.status, await response.text()) == answer


async def test_all_bodies_together_are_bounded_and_let_go_of() -> None:
    reader = bodies.Bodies(max_held=10)
    async with reading(reader) as url, aiohttp.ClientSession() as session:
        for size, status in ((11, 503), (9, 200), (9, 200)):
            async with session.post(url, data=b"x" * size) as response:
                assert response.status == status
            assert reader.held == 0


async def test_whoever_takes_nothing_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "SEND_SECONDS", 0.2)
    async with served(tmp_path) as runner:
        await runner.answer("POST", "/sandboxes/x/repository", b'{"url": "https://github.com/o/r"}')
        runner.memory.patch = b"x" * 64_000_000
        port = int(runner.server.url.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        head = f"GET /sandboxes/x/diff HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        writer.write(head.encode())
        await runner.memory.called("diff")
        async with asyncio.timeout(20):
            await cut(writer)
        writer.close()


async def cut(writer: asyncio.StreamWriter) -> None:
    """Until the other side is gone: writing to it fails then."""
    while True:
        writer.write(b"\r\n")
        try:
            await writer.drain()
        except ConnectionError:
            return
        await asyncio.sleep(0.05)


async def test_whoever_goes_away_in_a_long_answer_is_no_error_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(20), served(tmp_path) as runner:
        runner.memory.patch = b"x" * LONG
        await runner.answer("POST", "/sandboxes/x/repository", b'{"url": "https://github.com/o/r"}')
        async with runner.call("GET", "/sandboxes/x/diff") as response:
            assert await response.content.readexactly(1) == b"x"  # the server waits for room now
            response.close()
        assert (await runner.answer("GET", "/sandboxes/x/task"))[0] == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
