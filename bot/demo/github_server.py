"""The HTTP side of the local GitHub: reads requests, applies failure scripts, writes answers and the log."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable
from datetime import UTC
from email.utils import format_datetime
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.demo import github_git_http, github_uploads
from bot.demo.github_access import Answered, Asked, Moved, World
from bot.demo.github_auth import NOBODY, Caller, Refusal, caller
from bot.demo.github_failures import Failure
from bot.demo.github_log import Exchange
from bot.demo.github_routes import find

RATE_LIMIT = 5000
RATE_WINDOW_SECONDS = 3600


class Server:
    """Answers every request. ``failures`` and ``log`` are its owner's; ``notify`` is told of each answer."""

    def __init__(
        self,
        world: World,
        *,
        public_key: rsa.RSAPublicKey,
        api_prefix: str,
        failures: list[Failure],
        log: list[Exchange],
        notify: Callable[[], None],
        stopping: asyncio.Event,
    ) -> None:
        self._world = world
        self._public_key = public_key
        self._api_prefix = api_prefix
        self.failures = failures
        self.log = log
        self._notify = notify
        self._stopping = stopping
        self._requests = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            if request.path.startswith(github_uploads.PATH):
                return self._world.uploads.serve(request)
            if match := github_git_http.PATH.fullmatch(request.rel_url.raw_path):
                return await self._git(request, match["owner"], match["repo"], match["verb"])
            return await self._api(request)
        finally:
            self._notify()

    async def _api(self, request: web.Request) -> web.StreamResponse:
        raw = request.rel_url.raw_path
        path = api_path(raw, self._api_prefix)
        body = await request.read()
        found = find(request.method, path)
        operation = found[0].operation if found else ""
        failure = next((f for f in self.failures if f.applies(operation, request.method)), None)
        who, answer = NOBODY, Answered(404)
        if failure is None or failure.after_effect:
            who, answer = self._answer(request, path, found, body)
        content = b"" if answer.content is None else json.dumps(answer.content).encode()
        status, headers = answer.status, self._headers(answer, bool(content))
        if failure is not None:
            status, content = failure.status, failure.content()
            headers = self._headers(Answered(status), True) | {k.lower(): v for k, v in failure.headers.items()}
        silent = failure is not None and (failure.hang or failure.drop)
        self._record(
            request, operation, path, who, body, None if silent else status, headers, content, failure is not None
        )
        if failure is not None and silent:
            await self._say_nothing(request, failure)
        return web.Response(status=status, body=content, headers=headers)

    def _answer(self, request: web.Request, path: str, found: Any, body: bytes) -> tuple[Caller, Answered]:
        world = self._world
        who = NOBODY
        try:
            if not request.headers.get("User-Agent"):
                raise Refusal(
                    403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent"
                )
            authorization = request.headers.get("Authorization", "")
            who = caller(
                authorization,
                state=self._world.state,
                app=self._world.app,
                public_key=self._public_key,
                now=self._world.now(),
            )
            if found is None:
                raise Refusal(404, "Not Found")
            route, params = found
            query, accept = dict(request.rel_url.query), request.headers.get("Accept", "")
            asked = Asked(request.method, path, params, query, decoded(body), who, accept)
            return who, route.handler(world, asked)
        except Refusal as error:
            return who, Answered(error.status, error.body)
        except Moved as moved:
            status = 301 if request.method == "GET" else 307
            content = {
                "message": "Moved Permanently",
                "url": moved.location,
                "documentation_url": "https://docs.github.com/",
            }
            return who, Answered(status, content, {"Location": moved.location})

    def _headers(self, answer: Answered, has_content: bool) -> dict[str, str]:
        """GitHub's own headers, names in lower case. Date is by the server's clock."""
        self._requests += 1
        now = self._world.now()
        reset = int(now.timestamp()) // RATE_WINDOW_SECONDS * RATE_WINDOW_SECONDS + RATE_WINDOW_SECONDS
        headers = {
            "date": format_datetime(now.astimezone(UTC), usegmt=True),
            "server": "github.com",
            "x-github-media-type": "github.v3; format=json",
            "x-github-api-version-selected": "2022-11-28",
            "x-github-request-id": secrets.token_hex(8).upper(),
            "x-ratelimit-limit": str(RATE_LIMIT),
            "x-ratelimit-remaining": str(RATE_LIMIT - self._requests % RATE_LIMIT),
            "x-ratelimit-used": str(self._requests % RATE_LIMIT),
            "x-ratelimit-reset": str(reset),
            "x-ratelimit-resource": "core",
        }
        if has_content:
            headers["content-type"] = "application/json; charset=utf-8"
        return headers | {name.lower(): value for name, value in answer.headers.items()}

    async def _say_nothing(self, request: web.Request, failure: Failure) -> None:
        """Hang until the caller or the server goes away, or hang up."""
        if failure.hang:
            await self._stopping.wait()
        if request.transport is not None:
            request.transport.abort()

    async def _git(self, request: web.Request, owner: str, repo: str, verb: str) -> web.StreamResponse:
        authorization = request.headers.get("Authorization", "")
        service = request.rel_url.query.get("service", "") if verb == "info/refs" else verb
        operation, who = f"git/{verb}", NOBODY
        failure = next((f for f in self.failures if f.applies(operation, "GET")), None)
        if failure is not None:
            silent = failure.hang or failure.drop
            self._record(request, operation, request.path, who, b"", None if silent else failure.status, {}, b"", True)
            if silent:
                await self._say_nothing(request, failure)
            return web.Response(status=failure.status, body=failure.content(), headers=dict(failure.headers))
        try:
            who = github_git_http.identify(authorization, self._world.state, self._world.now())
            repository = self._world.state.repository(f"{owner}/{repo}") or self._world.state.formerly(
                f"{owner}/{repo}"
            )
            repository = github_git_http.admit(repository, service, authorization, self._world.state, who)
        except Refusal as error:
            self._record(request, operation, request.path, who, b"", error.status, {}, b"", False)
            return github_git_http.refusal(error)
        self._record(request, operation, request.path, who, b"", 200, {}, b"", False)
        return await github_git_http.serve(request, repository, verb)

    def _record(
        self,
        request: web.Request,
        operation: str,
        path: str,
        who: Caller,
        body: bytes,
        status: int | None,
        headers: dict[str, str],
        content: bytes,
        scripted: bool,
    ) -> None:
        asked = {name.lower(): value for name, value in request.headers.items()}
        if "authorization" in asked:
            asked["authorization"] = asked["authorization"].partition(" ")[0] + " ***"
        query = tuple(request.rel_url.query.items())
        self.log.append(
            Exchange(operation, request.method, path, query, who.kind, asked, body, status, headers, content, scripted)
        )
        self._notify()  # also while the answer is still on its way, or never comes


def api_path(raw: str, prefix: str) -> str:
    """What is asked of the API; empty: nothing of it. A server has GraphQL beside the version of its REST API."""
    beside = f"{prefix.removesuffix('/v3')}/graphql"
    if prefix and raw == beside:
        return "/graphql"
    path = raw.removeprefix(prefix) if raw.startswith(prefix) else ""
    return "" if prefix and path == "/graphql" else path


def decoded(body: bytes) -> Any:
    """The JSON of a request; an empty body is None."""
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        raise Refusal(400, "Problems parsing JSON") from None
