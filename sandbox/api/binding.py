"""Where the API may listen: this machine's loopback, a Unix socket, or elsewhere with TLS or in so many words."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from sandbox.settings import ApiSettings

UNIX = "unix://"


@dataclass(frozen=True)
class Place:
    """Either ``path``, or host and port with or without TLS."""

    path: Path | None = None
    host: str = ""
    port: int = 0
    tls: ssl.SSLContext | None = None

    def url(self, port: int) -> str:
        """What a client is told; ``port`` is the one that was bound."""
        if self.path is not None:
            return f"http+unix://{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{port}"


def place_of(settings: ApiSettings) -> Place:
    """Reads the TLS files. Raises ``ValueError`` with what to do."""
    tls = _tls(settings)
    if settings.listen.startswith(UNIX):
        path = Path(settings.listen.removeprefix(UNIX))
        if not path.is_absolute():
            raise ValueError("the socket's path must be absolute: unix:///PATH")
        if tls is not None:
            raise ValueError("a Unix socket needs no TLS: leave the certificate and its key out")
        return Place(path=path)
    host, _, port = settings.listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise ValueError("it must be HOST:PORT or unix:///PATH")
    if tls is None and not settings.plain and not is_loopback(host):
        raise ValueError(
            f"{settings.listen} is reached from other machines, and the tokens would travel in plain text: give a "
            "certificate and its key (GOFER_RUNNER_TLS_CERTIFICATE_FILE, GOFER_RUNNER_TLS_KEY_FILE), or set "
            "GOFER_RUNNER_PLAIN=true if that is meant"
        )
    return Place(host=host, port=int(port), tls=tls)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it. A name may resolve to anything: only ``localhost`` counts."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _tls(settings: ApiSettings) -> ssl.SSLContext | None:
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise ValueError("a certificate and its key are given together or not at all")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without a password of ours OpenSSL would ask for one at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        words = error.strerror or str(error)
        raise ValueError(f"certificate {certificate} and key {key} cannot be used: {words}") from None
    return context
