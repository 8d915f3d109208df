"""A Unix socket in front of an engine's that passes everything on and keeps what was sent to the engine, in order."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.pump import Pump

_VERSION = re.compile(r"^/v[0-9.]+")


@dataclass(frozen=True)
class Asked:
    """One request to the engine. ``order`` grows with the moment at which its head was sent."""

    order: int
    method: str
    path: str
    """Without the API's version and without the query."""
    query: str
    body: bytes
    """Of an attached stream: all that was ever written to it."""

    @property
    def container(self) -> str:
        """The container that it is about; empty for anything else."""
        found = re.match(r"/containers/([^/]+)", self.path)
        return found[1] if found and found[1] not in {"create", "json"} else ""

    @property
    def verb(self) -> str:
        """What is asked of it: ``start``, ``archive`` and so on."""
        return self.path.rpartition("/")[2]


class Tap(Pump):
    """Opened as a context manager. ``asked`` may be called at any time, best when all is over."""

    def __init__(self, path: Path, target: str) -> None:
        super().__init__(path, target)
        self._lock = threading.Lock()
        self._sent: list[tuple[int, bytes]] = []

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def sent(self) -> bytes:
        """Every byte that the engine was given, connection by connection."""
        return b"".join(data for _, data, _ in self._connections())

    def asked(self) -> list[Asked]:
        """Every request, in order."""
        found = [one for _, data, places in self._connections() for one in _requests(data, places)]
        return sorted(found, key=lambda one: one.order)

    def _connections(self) -> Iterator[tuple[int, bytes, list[tuple[int, int]]]]:
        """Number, bytes, and which piece (by its place in the whole order) began where."""
        with self._lock:
            pieces = list(enumerate(self._sent))
        for number in sorted({number for _, (number, _) in pieces}):
            data, places = bytearray(), []
            for order, (whose, piece) in pieces:
                if whose == number:
                    places.append((len(data), order))
                    data += piece
            yield number, bytes(data), places

    def passing(self, number: int, piece: bytes) -> None:
        """What the engine answers is not kept."""
        if number:
            with self._lock:
                self._sent.append((number, piece))


def _requests(data: bytes, places: list[tuple[int, int]]) -> Iterator[Asked]:
    at = 0
    while (end := data.find(b"\r\n\r\n", at)) >= 0:
        line, *headers = data[at:end].decode("latin-1").split("\r\n")
        method, target, _ = line.split(" ")
        path, _, query = target.partition("?")
        named = {name.lower(): value.strip() for name, _, value in (header.partition(":") for header in headers)}
        size = len(data) - end if "upgrade" in named else int(named.get("content-length", 0))
        assert "transfer-encoding" not in named, "a body without a length is not read here"
        order = places[bisect_right(places, (at, len(data) + 1)) - 1][1]
        at = end + 4 + size
        yield Asked(order, method, _VERSION.sub("", path), query, data[end + 4 : at])
