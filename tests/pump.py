"""A Unix socket that passes connections on to another, piece by piece; heirs decide what happens to a piece."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Self


class Pump:
    """Opened as a context manager. Every connection has two threads, one for each way, that end with it."""

    def __init__(self, path: Path, target: str) -> None:
        self.path, self._target = path, target
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._sockets):
            one.close()

    def passing(self, number: int, piece: bytes) -> None:
        """Called before a piece is passed on: with the connection's number, or 0 for what the engine answers."""

    def _accept(self) -> None:
        number = 0
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            self._sockets += [near, far]
            number += 1
            for ends in ((near, far, number), (far, near, 0)):
                threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, number: int) -> None:
        try:
            while piece := source.recv(65536):
                self.passing(number, piece)
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return
