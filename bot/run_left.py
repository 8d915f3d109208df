"""Which sandboxes of ``gofer run`` nobody looks after any more: their process was killed before it could tidy up.

Each run holds a lock on a file of its sandbox's name for as long as it lives; the kernel lets go of it in any death.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Run:
    """One living run. ``tidied`` says that nothing of its sandbox is left."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def tidied(self) -> None:
        self._file.unlink(missing_ok=True)


@contextmanager
def alive(folder: Path, name: str) -> Iterator[Run]:
    """The run ``name`` lives while the block runs. Its file stays where nobody says that it is tidied."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _turn(folder):
        lock = os.open(folder / name, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield Run(folder / name)
    finally:
        os.close(lock)


def left(folder: Path) -> list[str]:
    """The names of runs that are dead and were not tidied."""
    if not folder.is_dir():
        return []
    with _turn(folder):
        return sorted(path.name for path in folder.glob("run-*") if not _held(path))


def _held(path: Path) -> bool:
    lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """One process at a time between making a file and locking it."""
    lock = os.open(folder / "turn", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
