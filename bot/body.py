"""Read a request's body with bounds on its size, on the time it takes, and on what all bodies together hold.

aiohttp bounds neither the time for a body nor the memory of many. Nothing here looks into the bytes.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

MAX_BODY = 25 * 2**20
"""Bytes; GitHub's documented cap for a payload."""

BODY_SECONDS = 10.0
"""For the whole body: GitHub gives up waiting for an answer after as long."""

MAX_HELD = 4 * MAX_BODY
"""Bytes of unverified bodies in memory at one time, from all connections."""


class BodyRefused(Exception):
    """Carries the status and the words to answer with."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class BodyReader:
    """One for a server: it counts what is held."""

    def __init__(self, max_body: int = MAX_BODY, seconds: float = BODY_SECONDS, max_held: int = MAX_HELD) -> None:
        self._max_body = max_body
        self._seconds = seconds
        self._max_held = max_held
        self.held = 0
        """Bytes of bodies that are being read now."""

    async def read(self, request: web.Request) -> bytearray:
        """The whole body. Raises ``BodyRefused``: 413 before reading where the length says so, 408, 503."""
        if request.content_length is not None and request.content_length > self._max_body:
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(self._seconds):
                while chunk := await request.content.readany():
                    self._take(len(chunk))
                    body += chunk
                    if len(body) > self._max_body:
                        raise self._too_large()
        except TimeoutError:
            raise BodyRefused(408, "the body did not arrive in time") from None
        finally:
            self.held -= len(body)
        return body

    def _take(self, size: int) -> None:
        if self.held + size > self._max_held:
            raise BodyRefused(503, "too many large requests at one time")
        self.held += size

    def _too_large(self) -> BodyRefused:
        return BodyRefused(413, f"the body is larger than {self._max_body} bytes")
