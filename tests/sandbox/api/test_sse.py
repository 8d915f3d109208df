"""Progress as it is read by a client: events, heartbeats, an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from sandbox import Unreachable
from sandbox.api import sse
from tests.sandbox.api.memory import Served, served


@pytest.fixture
async def runner(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as running:
        await running.answer("POST", "/sandboxes/x/repository", b'{"url": "https://github.com/o/r"}')
        yield running


async def events(runner: Served, name: str = "x") -> list[str]:
    """All blocks of the stream, until its end."""
    async with asyncio.timeout(20), runner.call("GET", f"/sandboxes/{name}/events") as response:
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        return (await response.text()).removesuffix("\n\n").split("\n\n")


async def test_a_stream_ends_with_the_tasks_state(runner: Served) -> None:
    await runner.answer("POST", "/sandboxes/x/task", b"do")
    reading = asyncio.gather(events(runner))
    await runner.memory.called("events")
    await runner.memory.end("x")
    ((first, *_, last),) = await reading
    assert first.startswith('event: status\ndata: {"phase":"running"')
    assert last == 'event: end\ndata: {"state":"succeeded","result":"I did it."}'


async def test_where_no_task_has_run_the_end_says_so(runner: Served) -> None:
    assert (await events(runner, "nobody"))[-1] == 'event: end\ndata: {"state":"none"}'


async def test_silence_is_broken_by_heartbeats(runner: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.01)
    await runner.answer("POST", "/sandboxes/x/task", b"do")
    async with asyncio.timeout(20), runner.call("GET", "/sandboxes/x/events") as response:
        lines = [line async for line in until(response.content, b": heartbeat\n", runner)]
    assert b": heartbeat\n" in lines
    assert lines[-2].startswith(b'data: {"state":"succeeded"')


async def until(lines: AsyncIterable[bytes], word: bytes, runner: Served) -> AsyncIterator[bytes]:
    """All lines; the task is ended when ``word`` has come."""
    async for line in lines:
        yield line
        if line == word:
            await runner.memory.end("x")


async def test_an_engine_that_cannot_be_asked_is_told_before_anything_is_begun(runner: Served) -> None:
    runner.memory.trouble["events"] = Unreachable("hung")
    assert (await runner.answer("GET", "/sandboxes/x/events"))[0] == 503


async def test_a_stream_that_cannot_go_on_is_broken_off_and_no_second_answer_is_put_into_it(
    runner: Served, caplog: pytest.LogCaptureFixture
) -> None:
    await runner.answer("POST", "/sandboxes/x/task", b"do")
    async with asyncio.timeout(20), runner.call("GET", "/sandboxes/x/events") as response:
        assert (await response.content.readline()).startswith(b"event: status")
        runner.memory.trouble["status"] = Unreachable("hung")  # asked for the last event
        await runner.memory.end("x")
        with pytest.raises(aiohttp.ClientPayloadError) as broken:
            await response.content.read()
    assert "HTTP/1.1" not in str(broken.value)  # as it was quoted where another answer came in the middle
    assert "broken off: hung" in caplog.text
    assert "Traceback" not in caplog.text


async def test_whoever_ends_a_stream_is_no_error_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.timeout(20), served(tmp_path) as runner:
        await runner.answer("POST", "/sandboxes/x/repository", b'{"url": "https://github.com/o/r"}')
        await runner.answer("POST", "/sandboxes/x/task", b"do")
        async with runner.call("GET", "/sandboxes/x/events") as response:
            await response.content.readline()
            response.close()
        assert (await runner.answer("GET", "/sandboxes/x/task"))[0] == 200  # by now it is known that nobody reads
        await runner.memory.end("x")
        assert (await runner.answer("GET", "/sandboxes/x/task"))[0] == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_no_data_can_begin_another_event() -> None:
    with pytest.raises(ValueError, match="one line"):
        sse.event("status", "a\nevent: end")
