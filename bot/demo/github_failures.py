"""Scripted failures of the local GitHub: which calls fail, how often, and in which of the ways that GitHub does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass
class Failure:
    """How calls of ``operation`` fail (``*``: all; ``write``: all that change something) for the next ``times``.

    ``hang`` answers nothing until the caller goes away, ``drop`` closes the connection. ``after_effect`` does the work
    first and fails then. ``until`` ends the failure when it says so, by the server's clock.
    """

    operation: str
    status: int = 503
    times: int | None = 1
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    hang: bool = False
    drop: bool = False
    after_effect: bool = False
    until: Callable[[], bool] | None = None
    skip: int = 0
    """Calls of this kind that go well first."""
    hits: int = 0

    def applies(self, operation: str, method: str) -> bool:
        """Whether this call is one of them. Counts it if so."""
        wanted = self.operation in {"*", operation} or (self.operation == "write" and method not in {"GET", "HEAD"})
        spent = self.times is not None and self.hits >= self.times
        if not wanted or spent or (self.until is not None and self.until()):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.hits += 1
        return True

    def content(self) -> bytes:
        """The body: the given one, or words such as GitHub's for the status."""
        if self.body is not None:
            return self.body
        words = {502: "Server Error", 503: "Service Unavailable", 401: "Bad credentials"}
        message = words.get(self.status, "scripted failure")
        return json.dumps({"message": message, "documentation_url": "https://docs.github.com/rest"}).encode()


def primary_limit(operation: str, reset: int, *, status: int = 403, times: int | None = 1) -> Failure:
    """The hour's quota is used up; ``reset`` is when it is full again, in epoch seconds."""
    headers = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}
    body = {
        "message": "API rate limit exceeded for installation ID 1.",
        "documentation_url": "https://docs.github.com/",
    }
    return Failure(operation, status, times, headers, json.dumps(body).encode())


def secondary_limit(
    operation: str, *, retry_after: int | None = None, status: int = 403, times: int | None = 1
) -> Failure:
    """Too much at once. Quota is left; ``retry-after`` is not always named."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    body = {"message": words, "documentation_url": "https://docs.github.com/"}
    return Failure(operation, status, times, headers, json.dumps(body).encode())
