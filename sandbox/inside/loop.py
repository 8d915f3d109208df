"""Loop devices by ioctl: find the one of a file, attach, detach. Numbers and layout from linux/loop.h.

Each device carries a tag of ours in its file-name field, so one whose image has been unlinked is found again too.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.inside.bounds import Failed

LOOP_SET_FD, LOOP_CLR_FD, LOOP_SET_STATUS64, LOOP_GET_STATUS64 = 0x4C00, 0x4C01, 0x4C04, 0x4C05
LOOP_CTL_GET_FREE = 0x4C82
# device, inode, rdevice, offset, sizelimit; number, encrypt type and key size, flags; file, crypt name, key; init
STATUS = struct.Struct("=5Q4I64s64s32s2Q")
MAX_TAG_BYTES = 63
# Between asking for a free device and taking it somebody else may have it: each round asks anew.
ATTEMPTS = 50
_NODE = re.compile(r"loop[0-9]+")


@dataclass(frozen=True)
class Device:
    """An attached loop device: the file behind it by device and inode number, and our tag."""

    path: str
    file: tuple[int, int]
    tag: str


def attached(dev: Path) -> Iterator[Device]:
    """Every attached loop device whose node is in ``dev``."""
    for name in sorted(os.listdir(dev)):
        if _NODE.fullmatch(name):
            node = dev / name
            with contextlib.suppress(OSError):  # ENXIO: nothing attached
                yield _look(node)


def _look(node: Path) -> Device:
    handle = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        raw = fcntl.ioctl(handle, LOOP_GET_STATUS64, bytes(STATUS.size))
    finally:
        os.close(handle)
    device, inode, *rest = STATUS.unpack(raw)
    tag = rest[7].split(b"\0", 1)[0].decode("utf-8", "replace")
    return Device(str(node), (device, inode), tag)


def attach(dev: Path, image: Path, tag: str) -> str:
    """Give the image a free device, with the tag; answers its path. Raises ``Failed``."""
    backing = os.open(image, os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(ATTEMPTS):
            node = dev / f"loop{_free(dev)}"
            if _take(node, backing, tag):
                return str(node)
    finally:
        os.close(backing)
    raise Failed(f"no free loop device in {ATTEMPTS} attempts")


def _free(dev: Path) -> int:
    control = os.open(dev / "loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        return fcntl.ioctl(control, LOOP_CTL_GET_FREE)
    finally:
        os.close(control)


def _take(node: Path, backing: int, tag: str) -> bool:
    """False where somebody else was quicker."""
    handle = os.open(node, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(handle, LOOP_SET_FD, backing)
    except OSError as error:
        if error.errno == errno.EBUSY:
            return False
        raise
    else:
        try:
            fcntl.ioctl(handle, LOOP_SET_STATUS64, _status(tag))
        except OSError:
            fcntl.ioctl(handle, LOOP_CLR_FD)
            raise
        return True
    finally:
        os.close(handle)


def _status(tag: str) -> bytes:
    name = tag.encode()[:MAX_TAG_BYTES]
    return STATUS.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, name, b"", b"", 0, 0)


def detach(node: str) -> None:
    """Let go of it; fine where it is free already. A mounted one goes when the mount does."""
    handle = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.ioctl(handle, LOOP_CLR_FD)
    finally:
        os.close(handle)
