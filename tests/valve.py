"""A Unix socket between us and an engine that can stop passing anything on, as an engine that hangs does."""

from __future__ import annotations

import socket
import threading
from pathlib import Path


class Valve:
    """Passes connections of a Unix socket on to another, until it is shut: then nothing moves and nothing closes."""

    def __init__(self, path: Path, target: str) -> None:
        self.path, self._target = path, target
        self._open = threading.Event()
        self._open.set()
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Valve:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.set()
        for one in (self._listener, *self._sockets):
            one.close()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            self._sockets += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while piece := source.recv(65536):
                self._open.wait()
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return
