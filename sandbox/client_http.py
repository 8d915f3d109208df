"""One exchange with a runner over aiohttp: bounded in time and bytes, no redirects, no decisions."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from sandbox import Unreachable
from sandbox.api.binding import is_loopback
from sandbox.settings import RunnerAccess

UNIX: Final = "http+unix://"
FORMS: Final = "http+unix:///PATH, https://HOST[:PORT] or http://127.0.0.1:PORT"
# Seconds for a call that has nothing to wait for; the engine behind it may be slow.
SHORT_SECONDS: Final = 150.0
CONNECT_SECONDS: Final = 10.0
# Bytes. An outcome holds a patch of 16 MiB and contents of 32 MiB, which are 64 MiB in base64, and paths and words.
MAX_ANSWER_BYTES: Final = 128 * 2**20


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes


class Wire:
    """A connection to one runner. ``base`` has no path."""

    def __init__(self, base: URL, session: aiohttp.ClientSession, token: str) -> None:
        self._base = base
        self._session = session
        self._headers = {"Authorization": f"Bearer {token}"}

    async def ask(self, method: str, path: str, *, body: bytes | None = None, seconds: float = SHORT_SECONDS) -> Answer:
        """Send and read to the end. Raises ``Unreachable`` and nothing else of HTTP."""
        headers = self._headers | ({"Content-Type": "application/json"} if body is not None else {})
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        url = URL(f"{self._base}{path}", encoded=True)
        try:
            async with self._session.request(
                method, url, headers=headers, data=body, allow_redirects=False, timeout=timeout
            ) as response:
                return Answer(response.status, await _read(response))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # Neither the error nor its chain goes on: aiohttp's errors can hold the request's headers, token included.
            raise Unreachable(f"the runner cannot be asked: {_words(error)}") from None

    async def close(self) -> None:
        await self._session.close()


def open_wire(url: str, access: RunnerAccess) -> Wire:
    """Connects to nothing yet. To be called in a running loop. Raises ``ValueError`` with the forms that are known."""
    base, connector = _connector(url, access.ca_pem)
    session = aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trust_env=False
    )
    return Wire(base, session, access.token.get_secret_value())


def check_url(url: str) -> None:
    """Raises ``ValueError`` with the forms that are known."""
    if url.startswith(UNIX):
        if not re.fullmatch(r"/[^\0?#]+", url.removeprefix(UNIX)):
            raise ValueError(f"a runner is given as {FORMS}")
        return
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError(f"a runner is given as {FORMS}") from None
    if parts.username or parts.password or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError(f"a runner is given as {FORMS}, with nothing after it")
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))):
        raise ValueError(f"a runner is given as {FORMS}")


def _connector(url: str, ca_pem: str) -> tuple[URL, aiohttp.BaseConnector]:
    check_url(url)
    if url.startswith(UNIX):
        return URL("http://runner"), aiohttp.UnixConnector(path=url.removeprefix(UNIX))
    base = URL(url).origin()
    if base.scheme == "http":
        return base, aiohttp.TCPConnector()
    # Its own certificates alone, where some are named: a runner is one machine of the operator's, not a public site.
    context = ssl.create_default_context(cadata=ca_pem) if ca_pem else ssl.create_default_context()
    return base, aiohttp.TCPConnector(ssl=context)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            raise Unreachable(f"the runner's answer is longer than {MAX_ANSWER_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not to be trusted ({type(error.certificate_error).__name__})"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection: {error.os_error.strerror or type(error).__name__}"
    return f"connection broken: {type(error).__name__}"
