"""One exchange: bounded, and nothing of aiohttp's comes out of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from bot import github_http
from bot.github_http import MAX_ANSWER_BYTES, NoAnswer, exchange, open_session

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def answering(handler: Handler) -> AsyncIterator[str]:
    """A server that answers everything with ``handler``."""
    application = web.Application()
    application.router.add_get("/", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def get(url: str, seconds: float = 5.0) -> github_http.Answer:
    async with open_session() as session:
        return await exchange(session, "GET", url, {}, None, aiohttp.ClientTimeout(total=seconds))


async def test_names_of_headers_come_in_lower_case() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=520, body=b"words", headers={"X-RateLimit-Remaining": "0"})

    async with answering(handler) as url:
        answer = await get(url)
    assert (answer.status, answer.body, answer.headers["x-ratelimit-remaining"]) == (520, b"words", "0")


@pytest.mark.parametrize("compressed", [False, True])
async def test_an_endless_answer_is_cut_off(compressed: bool) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if compressed:  # a bomb: small on the wire
            response.enable_compression()
        await response.prepare(request)
        for _ in range(MAX_ANSWER_BYTES // 2**20 + 8):
            await response.write(b"\0" * 2**20)
        return response

    async with answering(handler) as url:
        with pytest.raises(NoAnswer, match="more than"):
            await get(url, 30.0)


async def test_half_an_answer_is_none() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"half")
        if request.transport is not None:
            request.transport.abort()
        return response

    async with answering(handler) as url:
        with pytest.raises(NoAnswer, match="broken"):
            await get(url)


async def test_no_cookie_is_kept_and_no_proxy_of_the_environment_used() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Cookie", ""))
        response = web.Response()
        response.set_cookie("session", "x")
        return response

    async with answering(handler) as url, open_session() as session:
        assert session.trust_env is False
        url = url.replace("127.0.0.1", "localhost")  # aiohttp's own jar takes cookies of names only
        for _ in range(2):
            await exchange(session, "GET", url, {}, None)
    assert seen == ["", ""]


async def test_an_error_carries_nothing_of_the_request() -> None:
    async with open_session() as session:
        with pytest.raises(NoAnswer) as caught:
            await exchange(session, "GET", "http://127.0.0.1:9/", {"Authorization": "Bearer canary"}, None)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "canary" not in repr(caught.value)
