"""Images over real HTTP: from GitHub's hosts, bounded, and nothing but images."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from bot.attachments import MOST_BYTES, MOST_BYTES_TOGETHER, Places
from bot.github_attachments import MOST_REDIRECTS, Attachments, PublicOnly
from bot.github_http import open_session

PNG = b"\x89PNG\r\n\x1a\n"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Uploads:
    """A host that keeps uploads: an answer for each name, and what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[web.Request] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        answer = self.answers.get(request.path.rpartition("/")[2])
        return await answer(request) if answer else web.Response(status=404)

    def gives(self, name: str, response: Callable[[], web.StreamResponse]) -> str:
        async def answer(_: web.Request) -> web.StreamResponse:
            return response()

        self.answers[name] = answer
        return f"{self.url}/user-attachments/assets/{name}"


@pytest.fixture
async def uploads() -> AsyncIterator[Uploads]:
    made = Uploads()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@pytest.fixture
async def fetcher(uploads: Uploads) -> AsyncIterator[Attachments]:
    places = Places.of(uploads.url, private=True)
    async with open_session(resolver=PublicOnly(private=True)) as session:
        yield Attachments(session, places)


async def test_b86_of_three_images_one_missing_one_a_login_page_one_too_large(
    uploads: Uploads, fetcher: Attachments
) -> None:
    good = uploads.gives("good", lambda: web.Response(body=PNG + b"good"))
    page = uploads.gives("page", lambda: web.Response(text="<html>Sign in</html>", content_type="image/png"))
    large = uploads.gives("large", lambda: web.Response(body=PNG + bytes(MOST_BYTES)))
    missing = f"{uploads.url}/user-attachments/assets/missing"
    images = await fetcher.fetch([missing, page, large, good])
    assert [image.why for image in images] == [
        "GitHub answered 404", "it is no image of a known kind", "it is too large", "",
    ]  # fmt: skip
    assert (images[3].kind, images[3].data) == ("png", PNG + b"good")


async def test_no_credential_goes_along(uploads: Uploads, fetcher: Attachments) -> None:
    await fetcher.fetch([uploads.gives("a", lambda: web.Response(body=PNG))])
    (request,) = uploads.asked
    assert {name.lower() for name in request.headers} <= {"host", "accept", "accept-encoding", "user-agent"}


async def test_p11_a_redirect_is_followed_to_github_alone(uploads: Uploads, fetcher: Attachments) -> None:
    there = uploads.gives("there", lambda: web.Response(body=PNG))
    within = uploads.gives("within", lambda: web.Response(status=302, headers={"Location": there}))
    relative = uploads.gives("relative", lambda: web.Response(status=302, headers={"Location": "there"}))
    away = uploads.gives("away", lambda: web.Response(status=302, headers={"Location": "http://169.254.169.254/x"}))
    page = uploads.gives("page", lambda: web.Response(status=302, headers={"Location": f"{uploads.url}/login"}))
    none = uploads.gives("none", lambda: web.Response(status=302))
    images = await fetcher.fetch([within, relative, away, page])
    assert [image.why for image in images] == ["", "", "it leads away from GitHub", "it leads away from GitHub"]
    assert (await fetcher.fetch([none]))[0].why == "it leads on and on"
    assert not any(request.path == "/login" for request in uploads.asked)


async def test_p11_what_is_not_github_s_is_never_asked(uploads: Uploads, fetcher: Attachments) -> None:
    (image,) = await fetcher.fetch([f"{uploads.url}/admin"])
    assert (image.why, uploads.asked) == ("it leads away from GitHub", [])


async def test_redirects_end(uploads: Uploads, fetcher: Attachments) -> None:
    url = uploads.gives("loop", lambda: web.Response(status=302, headers={"Location": "loop"}))
    assert (await fetcher.fetch([url]))[0].why == "it leads on and on"
    assert len(uploads.asked) == MOST_REDIRECTS + 1


async def test_all_together_are_bounded(uploads: Uploads, fetcher: Attachments) -> None:
    url = uploads.gives("a", lambda: web.Response(body=PNG + bytes(MOST_BYTES - len(PNG))))
    fitting = MOST_BYTES_TOGETHER // MOST_BYTES
    images = await fetcher.fetch([url] * (fitting + 1))
    assert [image.why for image in images] == [""] * fitting + ["it is too large"]


async def test_packed_data_is_bounded_by_what_it_grows_to(uploads: Uploads, fetcher: Attachments) -> None:
    def packed() -> web.Response:
        response = web.Response(body=PNG + bytes(8 * MOST_BYTES))
        response.enable_compression(web.ContentCoding.gzip)
        return response

    assert (await fetcher.fetch([uploads.gives("zip", packed)]))[0].why == "it is too large"


async def test_b86_one_that_hangs_does_not_hold_up_the_task(
    uploads: Uploads,
) -> None:
    async def hang(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    uploads.answers["hang"] = hang
    url = f"{uploads.url}/user-attachments/assets/hang"
    async with open_session() as session:
        fetcher = Attachments(session, Places.of(uploads.url, private=True), seconds=0.3)
        assert [image.why for image in await fetcher.fetch([url, url])] == ["it did not come in time"] * 2


async def test_a_host_that_is_not_there_is_told(fetcher: Attachments) -> None:
    async with open_session() as session:
        places = Places.of("http://127.0.0.1:9", private=True)
        images = await Attachments(session, places).fetch(["http://127.0.0.1:9/user-attachments/assets/1"])
        assert images[0].why == "it could not be fetched"


async def test_p11_a_name_that_leads_into_the_own_network_is_not_asked() -> None:
    resolver = PublicOnly(private=False)
    with pytest.raises(OSError, match="no address that may be asked"):
        await resolver.resolve("localhost", 443)
    assert await PublicOnly(private=True).resolve("localhost", 443)
    await resolver.close()
