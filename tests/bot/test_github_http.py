"""One exchange: bounded, and nothing of aiohttp's comes out of it."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from pydantic import SecretStr

from bot import github_http
from bot.github_http import MAX_ANSWER_BYTES, NoAnswer, exchange, open_session
from sandbox import Proxy
from tests.sandbox.api.certificates import certificate

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def answering(handler: Handler) -> AsyncIterator[str]:
    """A server that answers everything with ``handler``."""
    application = web.Application()
    application.router.add_get("/{path:.*}", handler)
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


async def test_the_operators_proxy_carries_everything_and_is_told_who_we_are() -> None:
    seen: list[tuple[str, str]] = []

    async def proxy(request: web.Request) -> web.Response:
        seen.append((str(request.url), request.headers.get("Proxy-Authorization", "")))
        return web.Response(text="from the proxy")

    async with answering(proxy) as url:
        ours = Proxy(url=url.rstrip("/"), user="me", password=SecretStr("canary"))
        async with open_session(proxy=ours) as session:
            answer = await exchange(session, "GET", "http://github.test/zen", {}, None)
    assert answer.body == b"from the proxy"
    assert seen == [("http://github.test/zen", "Basic " + base64.b64encode(b"me:canary").decode())]


async def test_a_proxy_that_is_not_there_is_no_answer_and_its_password_in_no_error() -> None:
    ours = Proxy(url="http://127.0.0.1:9", user="me", password=SecretStr("canary"))
    async with open_session(proxy=ours) as session:
        with pytest.raises(NoAnswer) as caught:
            await exchange(session, "GET", "https://github.test/zen", {}, None)
    assert "canary" not in repr(caught.value)


async def test_the_operators_certificates_are_trusted_besides_the_public_ones(tmp_path: Path) -> None:
    paths = certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(paths.certificate, paths.key)
    app = web.Application()
    app.router.add_get("/", ours)
    site = web.AppRunner(app)
    await site.setup()
    await web.TCPSite(site, "127.0.0.1", 0, ssl_context=context).start()
    url = f"https://127.0.0.1:{site.addresses[0][1]}/"
    pem = paths.certificate.read_text()
    async with open_session(ca_pem=pem) as session:
        assert (await exchange(session, "GET", url, {}, None)).body == b"ours"
    async with open_session() as session:
        with pytest.raises(NoAnswer):
            await exchange(session, "GET", url, {}, None)
    await site.cleanup()


async def ours(_: web.Request) -> web.Response:
    return web.Response(text="ours")


async def test_certificates_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="no certificates that can be used"):
        open_session(ca_pem="-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")


async def test_a_proxy_that_does_not_let_us_through_is_named() -> None:
    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 no\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuses, "127.0.0.1", 0)
    ours = Proxy(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with server, open_session(proxy=ours) as session:
        with pytest.raises(NoAnswer, match="the proxy answered 407"):
            await exchange(session, "GET", "https://github.test/zen", {}, None)
