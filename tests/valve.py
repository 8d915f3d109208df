"""A Unix socket between us and an engine that can stop passing anything on, as an engine that hangs does."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.pump import Pump


class Valve(Pump):
    """Passes everything on, until it is shut: then nothing moves and nothing closes."""

    def __init__(self, path: Path, target: str) -> None:
        super().__init__(path, target)
        self._open = threading.Event()
        self._open.set()

    def __exit__(self, *_: object) -> None:
        self._open.set()
        super().__exit__()

    def passing(self, number: int, piece: bytes) -> None:
        self._open.wait()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()
