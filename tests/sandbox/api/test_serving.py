"""The server around the routes: sockets, start, stop, and whoever keeps it waiting."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import aiohttp
import pytest

from sandbox import ApiSettings, Settings, Unreachable
from sandbox.api import serving as module
from sandbox.api.serving import serving
from tests.sandbox.api.memory import TOKEN, Memory, served, tokens_file


def api_for(folder: Path, listen: str = "127.0.0.1:0") -> ApiSettings:
    return ApiSettings(listen=listen, tokens_file=tokens_file(folder))


async def test_a_unix_socket_is_open_to_owner_and_group_and_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    async with served(tmp_path, listen=f"unix://{path}") as runner:
        assert runner.server.url == f"http+unix://{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        connector = aiohttp.UnixConnector(path=str(path))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            aiohttp.ClientSession(connector=connector, headers=headers) as session,
            session.get("http://runner/sandboxes") as response,
        ):
            assert await response.json() == {"sandboxes": []}
    assert not path.exists()
    assert runner.memory.closed


async def test_a_socket_left_by_a_killed_runner_is_replaced_and_one_in_use_is_not(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    (tmp_path / "file").write_text("")
    left = await asyncio.start_unix_server(lambda r, w: w.close(), path)
    with pytest.raises(ValueError, match="another process listens there"):
        async with served(tmp_path, listen=f"unix://{path}"):
            pass
    left.close()
    async with served(tmp_path, listen=f"unix://{path}"):
        pass
    with pytest.raises(ValueError, match="in use"):
        async with served(tmp_path, listen=f"unix://{tmp_path}/file"):
            pass
    assert (tmp_path / "file").exists()


async def test_an_address_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    async with served(tmp_path) as runner:
        taken = runner.server.url.removeprefix("http://")
        with pytest.raises(ValueError, match=f"cannot listen on http://{taken}"):
            async with served(tmp_path, listen=taken):
                pass


async def test_it_listens_before_the_engine_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REOPEN_SECONDS", 0.01)
    answers, memory = asyncio.Event(), Memory()

    async def opener() -> Memory:
        if not answers.is_set():
            raise Unreachable("no engine")
        return memory

    async with (
        serving(Settings(state_dir=tmp_path), api_for(tmp_path), opener) as server,
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}) as session,
    ):
        async with session.get(f"{server.url}/sandboxes") as response:
            assert response.status == 503
            assert "not answered yet" in await response.text()
        answers.set()
        await server.opened()
        async with session.get(f"{server.url}/sandboxes") as response:
            assert response.status == 200
    assert memory.closed


async def test_what_makes_work_pointless_is_told_and_not_raised_in_the_back(tmp_path: Path) -> None:
    async def opener() -> Memory:
        raise RuntimeError("the image is missing")

    async with serving(Settings(state_dir=tmp_path), api_for(tmp_path), opener) as server:
        assert str(await server.failed()) == "the image is missing"


async def test_without_tokens_nothing_listens(tmp_path: Path) -> None:
    api = ApiSettings(listen="127.0.0.1:0", tokens_file=tmp_path / "none")
    with pytest.raises(ValueError, match=r"the tokens: .* cannot be read"):
        async with serving(Settings(state_dir=tmp_path), api, opener_of_nothing):
            pass


async def opener_of_nothing() -> Memory:
    return Memory()


async def test_whoever_sends_half_a_head_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.SERVER_OPTIONS, "keepalive_timeout", 0.2)
    async with served(tmp_path) as runner:
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(runner.server.url))
        writer.write(b"GET /sandboxes HTTP/1.1\r\nHost: x\r\n")
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()


async def test_a_connection_too_many_is_closed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 2)
    async with served(tmp_path) as runner:
        port = port_of(runner.server.url)
        open_ones = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for _, writer in open_ones:  # seen by the server before the third one comes
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        for reader, _ in open_ones:
            assert b"200" in await reader.readline()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        for one in (*[w for _, w in open_ones], writer):
            one.close()


async def test_a_header_without_end_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as runner:
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(runner.server.url))
        writer.write(b"GET /sandboxes HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000)
        async with asyncio.timeout(10):
            assert (await reader.readline()).split()[1] == b"400"
        writer.close()


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])
