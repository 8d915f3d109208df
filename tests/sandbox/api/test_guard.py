"""Who comes in, what is logged of it, and how much at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from sandbox.api import guard
from tests.sandbox.api.memory import OTHER_TOKEN, TOKEN, Served, served


@pytest.fixture
async def runner(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as running:
        yield running


@pytest.mark.parametrize("given", [None, "", TOKEN, f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer"])
@pytest.mark.parametrize("path", ["/sandboxes", "/sandboxes/BAD", "/nonsense", "/sandboxes/x/task"])
async def test_without_a_token_there_is_one_answer_whatever_was_wrong(
    runner: Served, given: str | None, path: str
) -> None:
    del runner.session.headers["Authorization"]
    headers = {} if given is None else {"Authorization": given}
    async with runner.session.request("POST", runner.server.url + path, headers=headers, data=b"x") as response:
        assert response.status == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert await response.json() == {"error": "a bearer token of this runner is needed", "code": "unauthorized"}
    assert runner.memory.calls == []


async def test_health_and_the_description_need_no_token(runner: Served) -> None:
    del runner.session.headers["Authorization"]
    async with runner.session.get(f"{runner.server.url}/healthz") as response:
        assert (response.status, await response.text()) == (200, "ok\n")
    async with runner.session.get(f"{runner.server.url}/openapi.json") as response:
        assert (response.status, (await response.json())["openapi"]) == (200, "3.1.0")


async def test_every_changing_call_is_one_line_with_the_callers_name_and_no_token(
    runner: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await runner.answer("POST", "/sandboxes/x/repository", b'{"url": "https://github.com/o/r"}')
    runner.session.headers["Authorization"] = f"Bearer {OTHER_TOKEN}"
    await runner.answer("POST", "/sandboxes/x/task?agent=pi", b"do")
    await runner.answer("GET", "/sandboxes/x/task")
    lines = [record.getMessage() for record in caplog.records if record.name == "sandbox.api.guard"]
    assert lines == ["POST /sandboxes/x/repository by bot: 200", "POST /sandboxes/x/task by alice: 400"]
    assert TOKEN not in caplog.text
    assert OTHER_TOKEN not in caplog.text


async def test_too_many_calls_at_once_are_told(runner: Served) -> None:
    await runner.answer("POST", "/sandboxes/x/repository", b'{"url": "https://github.com/o/r"}')
    await runner.answer("POST", "/sandboxes/x/task", b"do")
    waits = [unbounded(runner) for _ in range(guard.MAX_CALLS + 4)]
    pending = asyncio.gather(*waits)
    await runner.memory.called("wait", guard.MAX_CALLS)
    await runner.memory.end("x")
    statuses = list(await pending)
    assert set(statuses) == {200, 503}
    assert statuses.count(503) == 4


async def unbounded(runner: Served) -> int:
    """The status of a call that waits, over a connection of its own: the session has a hundred at the most."""
    url = f"{runner.server.url}/sandboxes/x/status?seconds=20"
    async with aiohttp.ClientSession(headers=runner.session.headers) as session, session.get(url) as response:
        return response.status
