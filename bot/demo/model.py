"""A scripted model behind Anthropic's and OpenAI's APIs, over real HTTP, for ``gofer demo`` and for the tests.

It costs nothing, answers the same every time, and fails in every way that a gateway can (``bot.demo.scenarios``).
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from aiohttp import web
from pydantic import SecretStr

from bot.demo import apis, messages, scenarios
from bot.demo.apis import Api
from bot.demo.asked import Asked
from bot.demo.say import new_id
from bot.demo.scenarios import Answer, Break, Fail

# Claude Code sends 100 kB at least and the whole conversation each time.
MAX_BODY_BYTES = 64 * 2**20
# Enough for a whole test; with bodies of 100 kB and more they must not be kept for ever.
MAX_SEEN = 200
# Handlers that hang are told to end; those that do not within this many seconds are cancelled.
STOP_SECONDS = 1.0

_LATE = {"drop", "cut", "stall", "streamerror", "garbage"}
# What a request that asks for no stream gets instead: the nearest thing.
_WHOLE = {"drop": "nocontact", "cut": "nocontact", "stall": "hang", "garbage": "nocontact", "streamerror": "html"}


@dataclass(frozen=True)
class Seen:
    """One request as it came in. ``headers`` have lower-case names; they and the body are not for printing."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    scenario: str = ""
    """Empty for what was no question to the model, or was refused at the door."""
    at: float = field(default_factory=time.monotonic)


class ScriptedModel:
    """The server. Start it in a running loop; one instance is one port."""

    def __init__(
        self,
        scenario: str = "ok",
        *,
        expected_key: SecretStr | None = None,
        key_header: str = "",
        word_seconds: float = 0.2,
        retry_after: str = "",
    ) -> None:
        self.scenario = scenario
        """For prompts that name none; may be changed at any time."""
        self.fail_times: int | None = None
        """Fail this many times, then go on as ``ok``; None: for ever."""
        self.expected_key = expected_key
        """Every request without it is refused with 401; None: any will do."""
        self.key_header = key_header
        """Where the key is expected; empty: where each API has it."""
        self.word_seconds = word_seconds
        self.retry_after = retry_after
        self.seen: deque[Seen] = deque(maxlen=MAX_SEEN)
        self._closing = asyncio.Event()
        self._arrived = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        self._address = ("", 0)

    @property
    def url(self) -> str:
        """The base URL, without ``/v1``. Only after ``start``."""
        return f"http://{self._address[0]}:{self._address[1]}"

    @property
    def port(self) -> int:
        """The port it listens on. Only after ``start``."""
        return self._address[1]

    @property
    def questions(self) -> list[Seen]:
        """The requests that were put to the model itself."""
        return [seen for seen in self.seen if seen.scenario]

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 picks a free one. Once."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=STOP_SECONDS)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        self._address = self._runner.addresses[0][:2]

    async def listen_at(self, path: Path) -> None:
        """Listen on a Unix socket as well. After ``start``."""
        if self._runner is None:
            raise RuntimeError("the model has not been started")
        await web.UnixSite(self._runner, path).start()

    async def stop(self) -> None:
        """Close everything, hanging requests included. Safe to call twice, or before ``start``."""
        self._closing.set()
        if self._runner:
            await self._runner.cleanup()

    async def wait_for_questions(self, count: int, seconds: float) -> None:
        """Return once ``count`` questions have come in; ``TimeoutError`` after ``seconds``."""
        async with asyncio.timeout(seconds), self._arrived:
            await self._arrived.wait_for(lambda: len(self.questions) >= count)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        api = apis.meant(request.path) if request.method == "POST" else None
        if api is None:
            await self._note(request, body)
            return _error(messages, "404")
        if not self._key_is_right(request, api):
            await self._note(request, body)
            return _error(api, "401")
        try:
            asked = api.read(body)
            scenario = self._scenario(asked)
            answer = scenarios.answer(asked, scenario)
        except ValueError:
            await self._note(request, body)
            return _error(api, "400")
        await self._note(request, body, scenario)
        return await self._answer(request, api, asked, answer, scenario)

    async def _note(self, request: web.Request, body: bytes, scenario: str = "") -> None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        async with self._arrived:
            self.seen.append(Seen(request.method, request.path_qs, headers, body, scenario))
            self._arrived.notify_all()

    def _key_is_right(self, request: web.Request, api: Api) -> bool:
        if self.expected_key is None:
            return True
        given = request.headers.get(self.key_header or api.KEY_HEADER, "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), self.expected_key.get_secret_value().encode())

    def _scenario(self, asked: Asked) -> str:
        scenario = scenarios.chosen(asked, self.scenario)
        if self.fail_times is None or not isinstance(scenarios.answer(asked, scenario), Fail | Break):
            return scenario
        self.fail_times -= 1
        return scenario if self.fail_times >= 0 else "ok"

    async def _answer(
        self, request: web.Request, api: Api, asked: Asked, answer: Answer, scenario: str
    ) -> web.StreamResponse:
        if isinstance(answer, Fail):
            return _error(api, answer.name, self.retry_after)
        if isinstance(answer, Break) and not (asked.stream and answer.kind in _LATE):
            return await self._break(request, _WHOLE.get(answer.kind, answer.kind))
        say = answer.say if isinstance(answer, Break) else answer
        whole = api.whole(say, asked.model)
        if not asked.stream:
            return web.json_response(whole, headers=_request_id(api))
        pieces = api.stream(whole, asked)
        if isinstance(answer, Break):
            return await self._broken_stream(request, api, pieces, answer.kind)
        return await self._stream(request, api, pieces, self.word_seconds if scenario == "slow" else 0)

    async def _stream(
        self, request: web.Request, api: Api, pieces: Iterator[bytes], pause: float
    ) -> web.StreamResponse:
        response = await _start(request, api)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(pause)
        return response

    async def _broken_stream(
        self, request: web.Request, api: Api, pieces: Iterator[bytes], kind: str
    ) -> web.StreamResponse:
        """Its beginning, and then what breaks it; a ``cut`` is just the end of it."""
        response = await _start(request, api)
        for piece in islice(pieces, api.BEFORE_BREAK):
            await response.write(piece)
            await asyncio.sleep(0)
        if kind == "stall":
            await self._closing.wait()
        elif kind == "garbage":
            await response.write(b"data: {not json at all\n\n")
        elif kind == "streamerror":
            await response.write(api.stream_error())
        if kind in {"stall", "drop"}:
            _reset(request)
        return response

    async def _break(self, request: web.Request, kind: str) -> web.StreamResponse:
        """Instead of an answer."""
        if kind == "html":
            page = "<html><body><h1>502 Bad Gateway</h1></body></html>"
            return web.Response(status=502, text=page, content_type="text/html")
        if kind == "hang":
            await self._closing.wait()
        _reset(request)
        return web.Response()


def _reset(request: web.Request) -> None:
    if request.transport:
        request.transport.abort()


async def _start(request: web.Request, api: Api) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8", **_request_id(api)})
    await response.prepare(request)
    return response


def _request_id(api: Api) -> dict[str, str]:
    return {api.ID_HEADER: new_id("req_")}


def _error(api: Api, name: str, retry_after: str = "") -> web.Response:
    status, body = api.failure(name)
    headers = {**_request_id(api), **({"Retry-After": retry_after} if retry_after else {})}
    return web.json_response(body, status=status, headers=headers)
