"""The lock of a mirror: a folder, so that unpacking an archive over it leaves it as it is."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

POLL_SECONDS = 0.05


@contextlib.contextmanager
def held(folder: Path, seconds: float) -> Iterator[bool]:
    """Hold it for the length of the block; False where somebody else has held it for ``seconds``, or where it cannot
    be opened. The kernel lets go of it when its holder dies."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        yield _taken(handle, time.monotonic() + seconds)
    finally:
        os.close(handle)


def _taken(handle: int, until: float) -> bool:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= until:
                return False
            time.sleep(POLL_SECONDS)
        else:
            return True
