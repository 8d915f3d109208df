"""Which paths are passed on to an allowed destination: those that can be spelled in one way only. Pure.

Servers, caches and proxies disagree on what ``..``, ``//``, ``;``, a backslash or an encoded character mean, so none
of them is passed on, and what was judged is sent as it is, byte for byte. The few escapes that a registry's own
clients write are named one by one; none of them can become a separator.
"""

from __future__ import annotations

import re

# The longest that package tools ask for are wheels: about 250 characters.
MAX_TARGET_CHARS = 1024
MAX_QUERY_CHARS = 256

_PLAIN = r"[A-Za-z0-9._~!$&'()*+,:=@-]"
_ESCAPES = {
    "plain": "",
    "npm": "",
    "go": "|%21",  # the go command writes ! (in front of what was a capital) so
    "debian": "|%2[bB]|%7[eE]",  # apt writes + and ~ so
}
_SEGMENT = {grammar: re.compile(f"(?:{_PLAIN}{escapes})+") for grammar, escapes in _ESCAPES.items()}
# npm asks for the document of a scoped package under one segment: the only separator that may be encoded, once, there.
_SCOPED = re.compile(r"@[a-z0-9~_-][a-z0-9._~-]*%2[fF][a-z0-9._~-]*[a-z0-9_~-]")
_QUERY = re.compile(r"[A-Za-z0-9._~=&+,:@/-]*")
# A query is where some services take a key. None of what is allowed here needs one.
_CREDENTIAL = re.compile(r"auth|api[-_.]?key|token|secret|passw|credential|signature|session")


def refusal(target: str, grammar: str) -> str:
    """Why this request target is not passed on, in words; empty where it is."""
    path, asked, query = target.partition("?")
    if len(target) > MAX_TARGET_CHARS or len(query) > MAX_QUERY_CHARS:
        return "this address is too long to be passed on"
    if not path.startswith("/") or not _path(path, grammar):
        return "this path is spelled in a way that is not passed on"
    if (asked and not query) or not _QUERY.fullmatch(query):
        return "this query is spelled in a way that is not passed on"
    if _CREDENTIAL.search(query.lower()):
        return "no credential is passed on from this sandbox"
    return ""


def _path(path: str, grammar: str) -> bool:
    segments = path[1:].split("/")
    if grammar == "npm" and _SCOPED.fullmatch(segments[0]):
        segments = segments[1:]
    if segments and segments[-1] == "":  # one slash at the end names a folder
        segments = segments[:-1]
    return all(_SEGMENT[grammar].fullmatch(part) and part.strip(".") and not part.endswith(".") for part in segments)
