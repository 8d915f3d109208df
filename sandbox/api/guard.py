"""Around every call: who it is, whether it may come in at all, the line in the log, and what an error looks like."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from sandbox import Busy, NotThere, PrepareFailed, Unreachable
from sandbox.api.asked import Refused, named_in
from sandbox.api.tokens import Keyring

_log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

CALLER: Final = web.RequestKey("caller", str)
# No token: health says nothing, and the description is the same for every runner of this version.
OPEN_PATHS: Final = frozenset({"/healthz", "/openapi.json"})
CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# Calls at one time, waits and event streams among them. One task of a bot holds one or two.
MAX_CALLS: Final = 256
# Characters of a path in the log.
SHOWN_PATH: Final = 120


class Guard:
    """The only middleware; ``calls`` are under way."""

    def __init__(self, keyring: Keyring, max_calls: int = MAX_CALLS) -> None:
        self._keyring = keyring
        self._max_calls = max_calls
        self.calls = 0

    @property
    def middleware(self) -> Middleware:
        """For the application."""

        @web.middleware
        async def around(request: web.Request, handler: Handler) -> web.StreamResponse:
            self.calls += 1
            try:
                return await self._answered(request, handler)
            finally:
                self.calls -= 1

        return around

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            answer = await self._admitted(request, handler)
        except ConnectionResetError:
            return _to_nobody()
        except Exception as error:
            answer = refusal(request, error)
        if request.method in CHANGING and CALLER in request:
            _log.info(
                "%s %s by %s: %d", request.method, request.rel_url.raw_path[:SHOWN_PATH], request[CALLER], answer.status
            )
        return answer

    async def _admitted(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if path in OPEN_PATHS:
            return await handler(request)
        who = self._keyring.who(request.headers.getall("Authorization", []))
        if who is None:
            raise Refused(401, "a bearer token of this runner is needed", "unauthorized")
        request[CALLER] = who
        if self.calls > self._max_calls:
            raise Refused(503, "too many calls at one time", "busy_server")
        named_in(path)
        return await handler(request)


def refusal(request: web.Request, error: Exception) -> web.Response:
    """The answer to whoever asked. What nobody foresaw is in the log only."""
    match error:
        case Refused():
            return answer(request, error.status, str(error), error.code)
        case web.HTTPMethodNotAllowed():
            allowed = ", ".join(sorted(error.allowed_methods))
            response = answer(request, 405, f"this path takes {allowed}", "method")
            response.headers["Allow"] = allowed
            return response
        case web.HTTPNotFound():
            return answer(request, 404, "there is no such path; /openapi.json has them all", "path")
        case web.HTTPException():
            return answer(request, error.status, error.reason, "refused")
        case Busy():
            return answer(request, 409, str(error), "busy")
        case NotThere():
            return answer(request, 409, str(error), "not_there")
        case Unreachable():
            _log.warning("the engine cannot be asked: %s", error)
            return answer(request, 503, f"the container engine cannot be asked now: {error}", "unreachable")
        case PrepareFailed():
            return web.json_response(
                {"error": str(error), "code": "prepare_failed", "reason": error.reason}, status=422
            )
        case _:
            _log.error("%s %s failed", request.method, request.rel_url.raw_path[:SHOWN_PATH], exc_info=error)
            return answer(request, 500, "sandbox request failed", "failed")


def _to_nobody() -> web.Response:
    """The other side is gone. Raised on, it would be a traceback in the log for everyone who ends a stream."""
    response = web.Response(status=503)
    response.force_close()
    return response


def answer(request: web.Request, status: int, words: str, code: str) -> web.Response:
    """An error. Where a body is left unread the connection ends: what is left of it is not read."""
    response = web.json_response({"error": words, "code": code}, status=status)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if not request.content.at_eof():
        response.force_close()
    return response
