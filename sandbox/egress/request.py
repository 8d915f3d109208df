"""What is judged, and what is said of it: the words that all listeners' judges share. Pure; standard library only."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.egress.rules import Rule


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came, before any of its body. ``host`` is what a client of the general listener asked for."""

    listener: str
    method: str
    target: str
    host: str = ""
    scheme: str = "http"
    absolute: bool = False
    """The request target named a host itself (absolute form or CONNECT)."""
    version: str = "HTTP/1.1"
    upgrade: bool = False
    has_body: bool = False
    length: int | None = None
    content_type: str = ""
    content_encoding: str = ""
    port: int = 0
    inside: bool = False
    """It came inside the TLS of a tunnel; ``host`` and ``port`` are then what CONNECT named."""
    sni: str = ""
    """The name that TLS was opened for; empty where none was said."""
    named: tuple[str, ...] = ()
    """Every Host header, as it came."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reason`` is the sentence for the client; ``target`` is what goes upstream, empty when refused."""

    allowed: bool
    status: int
    reason: str
    host: str
    target: str = ""
    rule: Rule | None = None
    """What the request was allowed by; None when refused, and where no list of exact strings allowed it."""


def refused(host: str, status: int, reason: str) -> Verdict:
    return Verdict(False, status, reason, host)
