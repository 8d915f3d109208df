"""Which headers travel: pure, standard library only.

What is not on the list does not travel. So no credential of the client's goes upstream, under whatever name, and no
header with which a request could be routed, overridden or framed differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Fields = tuple[tuple[bytes, bytes], ...]

_BOTH = rb"accept|content-type|content-length|transfer-encoding|content-encoding|user-agent|expect"
# What the clients say of themselves and their session; an organisation or project of a provider is never among it: the
# key's own is used.
_MODEL = (
    rb"|x-app|x-(stainless|claude|anthropic|codex|session|opencode)-[a-z0-9-]+|anthropic-(beta|version|dangerous-[a-z-]+)"
    rb"|originator|version|(session|thread|conversation)[-_]id|openai-beta|x-client-request-id"
    rb"|x-openai-(subagent|internal-codex-responses-lite)"
)
# Of a request that only reads: what a cache and a package's index need.
_READING = re.compile(
    rb"accept|accept-language|user-agent|range|if-(range|match|none-match|modified-since)|cache-control|pragma"
)
_SHORT = frozenset({"general", "setup"})
MAX_READING_BYTES = 512
_TRAVELS = {
    "model": re.compile(_BOTH + _MODEL),
    "git": re.compile(_BOTH + rb"|git-protocol|pragma|cache-control"),
    "general": _READING,
    "setup": _READING,
}
# The second net: a name on the list above that still sounds like a credential stays here.
_CREDENTIAL = re.compile(rb"auth|api-?key|token|secret|cookie|passw|credential|signature")
# They would send the client elsewhere, keep something for a next task, or ask it for what it has not.
_RESPONSE_STAYS = re.compile(
    rb"set-cookie2?|www-authenticate|proxy-.*|location|refresh|alt-svc|upgrade|keep-alive|trailer|clear-site-data"
    rb"|strict-transport-security"
)


def sent(listener: str, fields: Iterable[tuple[bytes, bytes]], host: str) -> Fields:
    """The client's headers that go upstream, with our Host first and no encoding asked for but identity."""
    travels = _TRAVELS[listener]
    kept = [(b"host", host.encode("ascii")), (b"accept-encoding", b"identity")]
    for name, value in fields:
        lower = name.lower()
        if listener in _SHORT and len(value) > MAX_READING_BYTES:
            continue  # an identifier of a cache or of a program is short; what is longer carries something else
        if travels.fullmatch(lower) and not _CREDENTIAL.search(lower) and _plain(value):
            if lower == b"expect" and value.lower() != b"100-continue":
                continue
            kept.append((lower, _framing(lower, value)))
    return tuple(kept)


def whole(fields: Iterable[tuple[bytes, bytes]], length: int) -> Fields:
    """The headers of a body that is sent at once, however it came: its length and nothing else says where it ends."""
    framing = (b"content-length", b"transfer-encoding", b"expect")
    kept = tuple((name, value) for name, value in fields if name.lower() not in framing)
    return (*kept, (b"content-length", b"%d" % length))


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
