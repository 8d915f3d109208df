"""Signed webhooks for tests: sample payloads, the real handler behind a real server, and a client that signs."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from pydantic import SecretStr

from bot.body import BodyReader
from bot.permissions import Served
from bot.signature import Signer
from bot.tasks import Change, Request
from bot.webhook import SERVER_OPTIONS, make_webhook

SECRET = SecretStr("correct-horse-battery-staple-0123456789")
APP_ID = "4711"
PAYLOADS = Path(__file__).parent.parent / "payloads"
NAMES = sorted(path.stem for path in PAYLOADS.glob("*.json"))
SERVED = Served.parse("Codertocat")

Client = TestClient[web.Request, web.Application]


def sample(name: str = "issue_comment.created") -> Any:
    """A fresh copy of a sample payload."""
    return json.loads((PAYLOADS / f"{name}.json").read_bytes())


def headers_for(body: bytes, event: str = "issue_comment", delivery: str = "d-1", **more: str) -> dict[str, str]:
    """What GitHub sends beside ``body``; ``more`` adds or replaces, with underscores for dashes."""
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery,
        "X-GitHub-Hook-Installation-Target-Type": "integration",
        "X-GitHub-Hook-Installation-Target-ID": APP_ID,
        "X-Hub-Signature-256": Signer(SECRET).sign(body),
    } | {name.replace("_", "-"): value for name, value in more.items()}


Place = tuple[str | int, ...]


def paths(value: Any, path: Place = ()) -> Iterator[Place]:
    """Every place in a JSON value."""
    if path:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(item, (*path, key))


def holed(value: Any, path: Place, put: Any) -> Any:
    """A copy with something else at ``path``; ``...`` deletes it."""
    changed = copy.deepcopy(value)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if put is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = put
    return changed


class Memory:
    """A store that keeps requests in a list, for tests that are about what reaches it."""

    def __init__(self) -> None:
        self.added: list[Request] = []
        self.applied: list[Change] = []
        self.woken = 0

    async def add(self, request: Request) -> bool:
        known = any(request.content_key == old.content_key for old in self.added)
        if not known:
            self.added.append(request)
        return not known

    async def apply(self, change: Change) -> int:
        self.applied.append(change)
        return 1

    def wake(self) -> None:
        self.woken += 1


@asynccontextmanager
async def serving(
    store: Memory | None = None,
    *,
    add: Callable[[Request], Awaitable[bool]] | None = None,
    reader: BodyReader | None = None,
    served: Served = SERVED,
) -> AsyncIterator[Client]:
    """The handler at ``/``, and a client for it."""
    memory = store or Memory()
    app = web.Application()
    app.router.add_post(
        "/",
        make_webhook(SECRET, add or memory.add, memory.wake, served, APP_ID, store_apply=memory.apply, reader=reader),
    )
    server = TestServer(app)
    await server.start_server(**SERVER_OPTIONS)
    async with TestClient(server) as client:
        yield client


async def deliver(client: Client, payload: Any, event: str = "issue_comment", delivery: str = "d-1") -> tuple[int, Any]:
    """Sign, send, and give status and answer."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    async with client.post("/", data=io.BytesIO(body), headers=headers_for(body, event, delivery)) as response:
        return response.status, await response.json()
