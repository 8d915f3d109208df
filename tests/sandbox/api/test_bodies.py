"""Bodies and long answers are bounded in bytes and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.api import bodies
from sandbox.api.routes import Routes
from tests.sandbox.api.memory import TOKEN, served


async def drops(parts: list[bytes], then: asyncio.Event) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
    await then.wait()


async def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies.Bodies.read, "__defaults__", (0.05,))
    never = asyncio.Event()
    async with served(tmp_path) as runner:
        url = f"{runner.server.url}/sandboxes/x/task"
        async with asyncio.timeout(10), runner.session.post(url, data=drops([b"do"], never)) as response:
            assert response.status == 408
        never.set()


async def test_a_body_that_is_packed_is_refused(tmp_path: Path) -> None:
    packed = {"Content-Encoding": "gzip"}
    async with served(tmp_path) as runner, runner.call("POST", "/sandboxes/x/task", b"x", **packed) as response:
        assert response.status == 415


async def test_all_bodies_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bodies.Bodies] = []

    class Small(bodies.Bodies):
        def __init__(self) -> None:
            super().__init__(max_held=10)
            made.append(self)

    monkeypatch.setitem(Routes.__init__.__globals__, "Bodies", Small)
    async with served(tmp_path) as runner:
        assert (await runner.answer("POST", "/sandboxes/x/task", b"x" * 11))[0] == 503
        assert (await runner.answer("POST", "/sandboxes/x/task", b"x" * 9))[0] == 409
        assert [one.held for one in made] == [0]


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
