"""Fetching the images that a thread names: from GitHub's own hosts, without a credential, bounded in every way."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from bot.attachments import MOST_BYTES, MOST_BYTES_TOGETHER, Places, kind_of, raw
from sandbox import refused_address

# Seconds for one image, and for all of a task: its asker waits.
ONE: Final = aiohttp.ClientTimeout(total=15.0, sock_connect=5.0)
ALL_SECONDS: Final = 40.0
# GitHub itself leads once, to where it keeps the file.
MOST_REDIRECTS: Final = 3
USER_AGENT: Final = "gofer"
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True)
class Image:
    """One that was fetched, or why not: in words that are ours."""

    url: str
    kind: str = ""
    data: bytes = b""
    why: str = ""


class NoImage(Exception):
    """``str()`` says why, in words that are ours."""


class PublicOnly(AbstractResolver):
    """Names to addresses, without the private ones: a name of GitHub's that leads into this network is not GitHub's."""

    def __init__(self, *, private: bool) -> None:
        self._private = private
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._system.resolve(host, port, family)
        allowed = [one for one in found if not refused_address(one["host"], private=self._private)]
        if not allowed:
            raise OSError(f"{host} has no address that may be asked")
        return allowed

    async def close(self) -> None:
        await self._system.close()


class Attachments:
    """``session`` is the caller's, made for this alone: no credential of the bot's is in it."""

    def __init__(self, session: aiohttp.ClientSession, places: Places, *, seconds: float = ALL_SECONDS) -> None:
        self._session = session
        self._seconds = seconds
        self.places = places

    async def fetch(self, urls: Sequence[str]) -> list[Image]:
        """One for each, in their order. Raises nothing of the network's."""
        found: list[Image] = []
        left = MOST_BYTES_TOGETHER
        ends = asyncio.get_running_loop().time() + self._seconds
        for url in urls:
            try:
                async with asyncio.timeout_at(ends):
                    image = await self._one(url, min(left, MOST_BYTES))
            except TimeoutError:
                image = Image(url, why="it did not come in time")
            except NoImage as error:
                image = Image(url, why=str(error))
            except (aiohttp.ClientError, OSError, ValueError):
                image = Image(url, why="it could not be fetched")
            left -= len(image.data)
            found.append(image)
        return found

    async def _one(self, url: str, room: int) -> Image:
        at = raw(url)
        for _ in range(MOST_REDIRECTS + 1):
            if not self.places.hold(at):
                raise NoImage("it leads away from GitHub")
            async with self._session.get(
                URL(at, encoded=True), headers={"User-Agent": USER_AGENT}, allow_redirects=False, timeout=ONE
            ) as response:
                if response.status in _REDIRECTS:
                    at = urljoin(at, response.headers.get("Location", ""))
                    continue
                if response.status != 200:
                    raise NoImage(f"GitHub answered {response.status}")
                return self._read(url, await _body(response, room))
        raise NoImage("it leads on and on")

    def _read(self, url: str, data: bytes) -> Image:
        kind = kind_of(data)
        if kind is None:
            raise NoImage("it is no image of a known kind")
        return Image(url, kind, data)


async def _body(response: aiohttp.ClientResponse, room: int) -> bytes:
    """All of it. What a header says of its length is not asked: it may be wrong, and packed data grows."""
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > room:
            raise NoImage("it is too large")
        parts.append(part)
    return b"".join(parts)
