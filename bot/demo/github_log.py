"""What the local GitHub was asked and what it answered, for tests to read and for ``tests/openapi`` to judge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Exchange:
    """One request and its answer. The Authorization header is replaced by ``caller``, the kind of it."""

    operation: str
    """GitHub's own name of the operation, ``git/...`` for git, empty for an unknown path."""
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    caller: str
    request_headers: Mapping[str, str]
    request_body: bytes
    status: int | None
    """None: the connection was dropped or is hung."""
    response_headers: Mapping[str, str] = field(default_factory=dict)
    response_body: bytes = b""
    scripted: bool = False
    """A failure script has made this answer; it need not conform."""

    def json(self) -> Any:
        """The request's body, decoded."""
        return json.loads(self.request_body)

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query)
        asked = f"{self.method} {self.path}" + (f"?{query}" if query else "")
        return f"{asked} [{self.caller}] -> {self.status or 'no answer'}" + (" (scripted)" if self.scripted else "")


@dataclass(frozen=True)
class Delivery:
    """One webhook sent. ``status`` None: the receiver did not answer within GitHub's ten seconds, or at all."""

    id: str
    event: str
    action: str
    body: bytes
    status: int | None

    def __str__(self) -> str:
        return f"webhook {self.event}.{self.action} {self.id} -> {self.status or 'no answer'}"
