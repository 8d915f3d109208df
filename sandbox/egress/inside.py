"""TLS towards a client, for the inside of a tunnel: 1.2 or newer, HTTP/1.1 only, by this sandbox's own authority."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from OpenSSL import SSL

from sandbox.egress.ca import Authority

# Both sides' own: what a client may be told before any container of it runs. Public; every uid may read it.
PEM_NAME = "ca.pem"
_PIECE = 65535


def publish(authority: Authority, folder: Path) -> None:
    """Put the public certificate where the clients of a listener find it. Safe to repeat; whole or not at all."""
    new = folder / f".{PEM_NAME}.new"
    new.write_bytes(authority.pem)
    new.chmod(0o644)
    new.replace(folder / PEM_NAME)


def connection(authority: Authority, host: str) -> SSL.Connection:
    """A TLS server that is ``host`` to its client. Raises ``ValueError`` where no certificate can be made for it."""
    # A context of its own: mitmproxy's function for it hands out the same one again and again.
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_alpn_select_callback(_http1)
    # A ticket would let a client come back under another name than it was checked for.
    context.set_options(SSL.OP_NO_TICKET)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.use_privatekey(authority.key)
    context.use_certificate(authority.for_host(host))
    link = SSL.Connection(context)
    link.set_accept_state()
    return link


def _http1(link: SSL.Connection, offered: list[bytes]) -> Any:
    """Nothing else is spoken. A client that offers only others hears nothing of it, and ends at its first byte."""
    return b"http/1.1" if b"http/1.1" in offered else SSL.NO_OVERLAPPING_PROTOCOLS


class Seal:
    """Encrypts the last words to a client whose TLS mitmproxy has been speaking until then."""

    def __init__(self, link: SSL.Connection) -> None:
        self._link = link

    def __call__(self, data: bytes) -> bytes:
        """``data`` as it goes over the wire. The session stays: mitmproxy may still want to say something, which the
        door then throws away."""
        self._link.sendall(data)
        sealed = bytearray()
        while True:
            try:
                sealed += self._link.bio_read(_PIECE)
            except SSL.WantReadError:
                return bytes(sealed)
