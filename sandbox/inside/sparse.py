"""Copies of sparse files: what is empty takes no room, and a digest tells whether two hold the same bytes."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

BLOCK_BYTES = 64 * 1024  # read, looked at and written at once; a multiple of every file system's own block
_ZEROS = bytes(BLOCK_BYTES)


def copy(source: Path, target: Path) -> str:
    """Copy to a new file, on disk when this returns, and answer its digest. ``target`` must not be there."""
    with source.open("rb", buffering=0) as given, target.open("xb", buffering=0) as out:
        size = os.fstat(given.fileno()).st_size
        out.truncate(size)
        seen = hashlib.sha256(size.to_bytes(8, "big"))
        for offset in _blocks(given.fileno(), size):
            block = os.pread(given.fileno(), BLOCK_BYTES, offset)
            if block != _ZEROS[: len(block)]:  # equal content is equal, wherever a file system keeps its holes
                seen.update(offset.to_bytes(8, "big"))
                seen.update(block)
                _write(out.fileno(), block, offset)
        os.fsync(out.fileno())
    return seen.hexdigest()


def taken(path: Path) -> int:
    """Bytes on disk; 512 is the unit of st_blocks."""
    return path.stat().st_blocks * 512


def _blocks(handle: int, size: int) -> Iterator[int]:
    """Where blocks begin that may hold anything, in order."""
    offset = 0
    while offset < size:
        try:
            data = os.lseek(handle, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole from here on
                return
            raise
        hole = os.lseek(handle, data, os.SEEK_HOLE)
        offset = max(offset, data - data % BLOCK_BYTES)
        while offset < hole:
            yield offset
            offset += BLOCK_BYTES


def _write(handle: int, block: bytes, offset: int) -> None:
    done = 0
    while done < len(block):
        done += os.pwrite(handle, block[done:], offset + done)
