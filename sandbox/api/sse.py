"""Progress as server-sent events: every change of a task's status, heartbeats in between, one last event at its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

from aiohttp import web

from sandbox import Unreachable
from sandbox.api.bodies import cut, write
from sandbox.background import spawn
from sandbox.job import Status

# Seconds. Proxies cut what is silent for a minute; a client takes three missed ones for a broken connection.
HEARTBEAT_SECONDS: Final = 15.0
HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}

Last = Callable[[], Awaitable[str]]

_log = logging.getLogger(__name__)


def event(name: str, data: str) -> bytes:
    """One event. ``data`` is JSON on one line, so that nothing in it can begin another event."""
    if "\n" in data or "\r" in data:
        raise ValueError("an event's data must be one line")
    return f"event: {name}\ndata: {data}\n\n".encode()


async def stream(
    request: web.Request, statuses: AsyncIterator[Status], last: Last, beat: float | None = None
) -> web.StreamResponse:
    """Send ``statuses`` as they come, then the event ``end`` with what ``last`` gives.

    What the first status raises is raised, before anything is answered; what a later one raises breaks the stream off
    without ``end``, as ``ConnectionResetError``: the client asks again. ``beat``: seconds between heartbeats.
    """
    async with aclosing(_beating(statuses, beat or HEARTBEAT_SECONDS)) as beating:
        first = await anext(beating, None)
        response = web.StreamResponse(headers=HEADERS)
        await response.prepare(request)
        try:
            if first is not None:
                await write(request, response, first)
            async for part in beating:
                await write(request, response, part)
            await write(request, response, event("end", await last()))
        except ConnectionResetError:
            raise
        except Exception as error:  # an answer that is begun cannot become one of another status
            _log.warning("a stream of events is broken off: %s", error, exc_info=not isinstance(error, Unreachable))
            raise cut(request, "the stream cannot go on") from error
    return response


async def _beating(statuses: AsyncIterator[Status], beat: float) -> AsyncGenerator[bytes, None]:
    """The events, and a comment wherever there was none for ``beat`` seconds (never before the first)."""
    begun = False
    coming = spawn(_next(statuses), name="next status")
    try:
        while True:
            await asyncio.wait([coming], timeout=beat if begun else None)
            if not coming.done():
                yield b": heartbeat\n\n"
                continue
            status = coming.result()
            if isinstance(status, Unreachable):
                raise status
            if status is None:
                return
            begun = True
            yield event("status", status.model_dump_json())
            coming = spawn(_next(statuses), name="next status")
    finally:
        coming.cancel()
        await asyncio.wait([coming])
        if (close := getattr(statuses, "aclose", None)) is not None:
            await close()


async def _next(statuses: AsyncIterator[Status]) -> Status | Unreachable | None:
    """An engine that cannot be asked is a value here: as the death of a task it would be logged as one."""
    try:
        return await anext(statuses, None)
    except Unreachable as error:
        return error
