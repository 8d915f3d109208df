"""One HTTP exchange with GitHub over aiohttp: bounded in time and bytes, no decisions."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from sandbox import Proxy

# GitHub ends a request of its own after 10 s; twice that is a lost connection. aiohttp's default would be 300 s.
CALL_TIMEOUT = aiohttp.ClientTimeout(total=20.0, sock_connect=5.0)
# A page of 30 comments of 65,536 characters, all escaped as \\uXXXX, is 12 MB.
MAX_ANSWER_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Answer:
    """A whole answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswer(Exception):
    """No whole answer came. The request may have arrived all the same."""


def open_session(
    *,
    trust_env: bool = False,
    ca_pem: str = "",
    proxy: Proxy | None = None,
    resolver: AbstractResolver | None = None,
) -> aiohttp.ClientSession:
    """A session for the client. ``trust_env`` lets the proxy variables of the environment count; off by default.

    ``ca_pem`` is trusted besides the public certificates; through ``proxy`` everything goes, and its own certificates
    are trusted too. ``resolver`` finds addresses in place of the system's own. Call it in a running loop, and close it
    when done. No cookies are kept. Raises ``ValueError`` for certificates that are none.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=_trust(ca_pem + "\n" + (proxy.ca_pem if proxy else "")), resolver=resolver),
        trust_env=trust_env,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=CALL_TIMEOUT,
        proxy=_address(proxy) if proxy else None,
    )


def _address(proxy: Proxy) -> URL:
    """With user and password in it, which aiohttp makes a header of. It is in no error of ours."""
    url = URL(proxy.url)
    return url.with_user(proxy.user).with_password(proxy.password.get_secret_value()) if proxy.user else url


def _trust(pem: str) -> ssl.SSLContext | bool:
    """The public certificates, and these."""
    if not pem.strip():
        return True
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(cadata=pem)
    except ssl.SSLError as error:
        raise ValueError(f"no certificates that can be used: {error.reason or error}") from None
    return context


async def exchange(
    session: aiohttp.ClientSession,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    timeout: aiohttp.ClientTimeout = CALL_TIMEOUT,
) -> Answer:
    """Send and read to the end. Redirects are answers, never followed. Raises ``NoAnswer`` and nothing else of HTTP."""
    try:
        async with session.request(
            method,
            URL(url, encoded=True),
            headers=headers,
            data=body,
            allow_redirects=False,
            timeout=timeout,
        ) as response:
            content = await _read(response)
            return Answer(response.status, {k.lower(): v for k, v in response.headers.items()}, content)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        # Neither the error nor its chain goes on: aiohttp's errors can hold the request's headers, token included.
        raise NoAnswer(_words(error)) from None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            raise NoAnswer(f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection: {error.os_error.strerror or type(error).__name__}"
    return f"connection broken: {type(error).__name__}"
