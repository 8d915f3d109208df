"""One demo at a time on a machine: two would remove each other's containers."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class NotAlone(Exception):
    """``str()`` says what to do."""


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock ``path`` while the block runs. Raises ``NotAlone`` where somebody else does."""
    lock = _opened(path)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotAlone("another demo is running on this machine; wait for it to end") from None
        yield
    finally:
        os.close(lock)


def _opened(path: Path) -> int:
    """The file may be another user's, of a demo before: then it can be opened (and locked) for reading only, and in a
    folder that everybody may write to, the kernel refuses even that where the call might make the file."""
    try:
        with contextlib.suppress(FileExistsError):
            return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise NotAlone(f"{path} cannot be opened ({error.strerror}); remove it if no demo is running") from None
