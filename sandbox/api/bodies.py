"""Reading bodies and sending long answers: bounded in bytes and in time, whoever is at the other end."""

from __future__ import annotations

import asyncio

from aiohttp import web

from sandbox.api.asked import Refused

# Seconds for a whole small body: it comes from the machine next door.
BODY_SECONDS = 30.0
# Seconds for a job with a bundle in it.
JOB_SECONDS = 300.0
# Bytes of bodies in memory at one time, from all connections.
MAX_HELD = 256 * 2**20
# Seconds in which the other side must take the next part of an answer.
SEND_SECONDS = 30.0
# Bytes. Answers up to this lie in the kernel's buffers whether anybody reads them or not.
PART_BYTES = 64 * 1024


class Bodies:
    """One for a server: it counts what is held."""

    def __init__(self, max_held: int = MAX_HELD, seconds: float = BODY_SECONDS) -> None:
        self._max_held = max_held
        self._seconds = seconds
        self.held = 0
        """Bytes of bodies that are being read now."""

    async def read(self, request: web.Request, most: int, words: str, seconds: float | None = None) -> bytes:
        """The whole body of at most ``most`` bytes, within ``seconds`` or what is usual.

        Raises ``Refused``: 413 with ``words`` before reading more than that (before reading at all where the length
        says so), 408, 415, 503.
        """
        if "Content-Encoding" in request.headers:
            raise Refused(415, "send the body without Content-Encoding")
        if request.content_length is not None and request.content_length > most:
            raise Refused(413, words)
        body = bytearray()
        try:
            async with asyncio.timeout(seconds or self._seconds):
                while chunk := await request.content.readany():
                    self._take(len(chunk))
                    body += chunk
                    if len(body) > most:
                        raise Refused(413, words)
        except TimeoutError:
            raise Refused(408, "the body did not arrive in time") from None
        finally:
            self.held -= len(body)
        return bytes(body)

    def _take(self, size: int) -> None:
        if self.held + size > self._max_held:
            raise Refused(503, "too many large requests at one time", "busy_server")
        self.held += size


async def send(request: web.Request, body: bytes, content_type: str) -> web.StreamResponse:
    """200 with this body. Whoever does not take it in time is cut off: it would lie in memory for as long."""
    if len(body) <= PART_BYTES:
        return web.Response(body=body, headers={"Content-Type": content_type})
    response = web.StreamResponse(headers={"Content-Type": content_type})
    response.content_length = len(body)
    await response.prepare(request)
    for start in range(0, len(body), PART_BYTES):
        await write(request, response, body[start : start + PART_BYTES])
    return response


async def write(request: web.Request, response: web.StreamResponse, part: bytes) -> None:
    """Raises ``ConnectionResetError`` where the other side is gone, or takes nothing for too long."""
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await response.write(part)
    except TimeoutError:
        raise cut(request, "the other side takes nothing") from None
    except ConnectionError as error:  # aiohttp has two words for one that has gone: at a write, and waiting after it
        raise cut(request, "the other side is gone") from error


def cut(request: web.Request, words: str) -> ConnectionResetError:
    """The connection ends now, in the middle of whatever was said; to be raised."""
    if request.transport is not None:
        request.transport.abort()
    return ConnectionResetError(words)
