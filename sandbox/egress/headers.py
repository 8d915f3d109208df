"""Which headers travel, and where a credential is set: pure, standard library only.

What is not on the list does not travel. So no credential of the client's goes upstream, under whatever name, and no
header with which a request could be routed, overridden or framed differently.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

Fields = tuple[tuple[bytes, bytes], ...]

_BOTH = rb"accept|content-type|content-length|transfer-encoding|content-encoding|user-agent|expect"
_TRAVELS = {
    "model": re.compile(_BOTH + rb"|x-app|x-(stainless|claude|anthropic)-[a-z0-9-]+|anthropic-[a-z0-9-]+"),
    "git": re.compile(_BOTH + rb"|git-protocol|pragma|cache-control"),
}
# The second net: a name on the list above that still sounds like a credential stays here.
_CREDENTIAL = re.compile(rb"auth|api-?key|token|secret|cookie|passw|credential|signature")
# They would send the client elsewhere, keep something for a next task, or ask it for what it has not.
_RESPONSE_STAYS = re.compile(
    rb"set-cookie2?|www-authenticate|proxy-.*|location|refresh|alt-svc|upgrade|keep-alive|trailer|clear-site-data"
    rb"|strict-transport-security"
)
# A secret shorter than this is no secret, and masking it would tear holes into ordinary text.
SECRET_BYTES = 8


def sent(listener: str, fields: Iterable[tuple[bytes, bytes]], host: str) -> Fields:
    """The client's headers that go upstream, with our Host first and no encoding asked for but identity."""
    travels = _TRAVELS[listener]
    kept = [(b"host", host.encode("ascii")), (b"accept-encoding", b"identity")]
    for name, value in fields:
        lower = name.lower()
        if travels.fullmatch(lower) and not _CREDENTIAL.search(lower) and _plain(value):
            if lower == b"expect" and value.lower() != b"100-continue":
                continue
            kept.append((lower, _framing(lower, value)))
    return tuple(kept)


def _framing(lower: bytes, value: bytes) -> bytes:
    """How long the body is, in one spelling: ``CHUNKED`` is a body to one server and none to the next, which would
    then read the body as requests. Raises ``ValueError`` for what cannot be spelled so."""
    if lower == b"content-length":
        return b"%d" % int(value)
    if lower == b"transfer-encoding" and value.lower() != b"chunked":
        raise ValueError("the body is coded in another way")
    return b"chunked" if lower == b"transfer-encoding" else value


def _plain(value: bytes) -> bool:
    """Folded lines and control characters mean different things to different servers."""
    return not any((byte < 32 and byte != 9) or byte == 127 for byte in value)


def answered(fields: Iterable[tuple[bytes, bytes]]) -> Fields:
    """The upstream's headers that the client gets to see."""
    return tuple((name, value) for name, value in fields if not _RESPONSE_STAYS.fullmatch(name.lower()))


class Credentials:
    """The secrets of one sandbox. Shown by nothing: ``repr`` names no value, and there is no attribute to log."""

    __slots__ = ("_header", "_seen", "_values")

    def __init__(self, secrets: Mapping[str, str], model_header: str) -> None:
        """Raises ``ValueError`` for anything but the two known secrets, or one that no header can carry."""
        if set(secrets) != {"model", "fetch"}:
            raise ValueError("secrets must have exactly: model, fetch")
        for name, value in secrets.items():
            if not isinstance(value, str) or not value.isascii() or not (value == "" or value.isprintable()):
                raise ValueError(f"the secret {name} is not printable ASCII")
        self._header = model_header
        self._values = {"model": secrets["model"], "git": secrets["fetch"]}
        self._seen = tuple(sorted({form for value in secrets.values() for form in _forms(value)}, key=len)[::-1])

    def __repr__(self) -> str:
        return f"Credentials({', '.join(name for name, value in self._values.items() if value)})"

    def set_on(self, listener: str) -> Fields:
        """The header to add to one allowed request of this listener; none where there is no credential."""
        value = self._values.get(listener, "")
        if not value:
            return ()
        if listener == "git":
            pair = base64.b64encode(f"x-access-token:{value}".encode())
            return ((b"authorization", b"Basic " + pair),)
        bearer = "Bearer " if self._header == "authorization" else ""
        return ((self._header.encode("ascii"), f"{bearer}{value}".encode("ascii")),)

    def drop(self, listener: str) -> None:
        """Forget it. What an upstream may still echo of it goes on being masked."""
        self._values.pop(listener, None)

    def masked(self) -> tuple[bytes, ...]:
        """Every form of every secret that must not be seen by a client, longest first."""
        return self._seen


def _forms(secret: str) -> Iterable[bytes]:
    """The secret as we send it, and as an upstream may write it into JSON, a URL or its own log line."""
    for value in {secret, secret.removeprefix("Bearer ")}:
        if len(value) >= SECRET_BYTES:
            pair = f"x-access-token:{value}".encode()
            yield value.encode()
            yield base64.b64encode(pair)
            yield quote(value, safe="").encode()
            yield value.replace("\\", "\\\\").replace('"', '\\"').replace("/", "\\/").encode()
            yield value.replace("\\", "\\\\").replace('"', '\\"').encode()
