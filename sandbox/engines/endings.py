"""Hear of containers that end, from the engine's event stream. It only shortens waits: polling guarantees them."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Protocol

PAUSE_SECONDS = 2.0  # after the stream broke; polling covers the gap

_log = logging.getLogger(__name__)


class Events(Protocol):
    """What the client library answers: an endless stream that another thread may close."""

    def __iter__(self) -> Any: ...
    def close(self) -> None: ...


class Endings:
    """One daemon thread reads the events; ``wait`` is used from one event loop."""

    def __init__(self, open_stream: Callable[[], Events]) -> None:
        self._open = open_stream
        self._waiting: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._loop = asyncio.get_running_loop()
        self._closed = threading.Event()
        self._stream: Events | None = None
        threading.Thread(target=self._listen, name="gofer-engine-events", daemon=True).start()

    def expect(self, container: str) -> asyncio.Future[None]:
        """A future that is done once this container's end is heard of. Give it back with ``forget``."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiting[container].add(future)
        return future

    def forget(self, container: str, future: asyncio.Future[None]) -> None:
        self._waiting[container].discard(future)
        if not self._waiting[container]:
            del self._waiting[container]

    def close(self) -> None:
        self._closed.set()
        stream = self._stream
        if stream is not None:
            try:
                stream.close()
            except OSError as error:  # it had broken by itself
                _log.debug("closing the event stream: %s", error)

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                self._stream = self._open()
                if self._closed.is_set():
                    self._stream.close()
                self._read(self._stream)
            except Exception as error:  # whatever it is: the next look finds what was missed
                if not self._closed.is_set():
                    _log.debug("the engine's event stream broke: %r", error)
            self._closed.wait(PAUSE_SECONDS)

    def _read(self, stream: Iterable[Any]) -> None:
        for event in stream:
            if isinstance(event, bytes):
                event = json.loads(event)
            name = ((event.get("Actor") or {}).get("Attributes") or {}).get("name")
            if isinstance(name, str):
                self._loop.call_soon_threadsafe(self._tell, name)

    def _tell(self, container: str) -> None:
        for future in self._waiting.get(container, ()):
            if not future.done():
                future.set_result(None)
