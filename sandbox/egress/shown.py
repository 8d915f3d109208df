"""A client's own words, fit for a log line and for a sentence: no space, control or markup character. Pure."""

from __future__ import annotations

import re

# A DNS name has at most 253 characters. What a client calls a host is shown to people and logged.
MAX_HOST_CHARS = 253
# Enough to recognise a path in a log; a client can send 64 KiB of it.
MAX_PATH_CHARS = 256
MAX_METHOD_CHARS = 16


def host(text: str) -> str:
    return re.sub(r"[^a-z0-9.:\[\]_-]", "?", text[:MAX_HOST_CHARS].lower()) or "that host"


def path(text: str) -> str:
    return re.sub(r"[^!#-;=?-_a-~]", "?", text[:MAX_PATH_CHARS])


def method(text: str) -> str:
    return re.sub(r"[^A-Za-z-]", "?", text[:MAX_METHOD_CHARS])
