"""Capped file systems for dependencies, beside those of the workspaces: commands ``deps ...`` of the store helper.

    deps make KEY DRAFT BYTES INODES   -> {"device": "/dev/loopN"}: an empty one that a setup phase may fill
    deps seal KEY DRAFT                -> {}: it is whole; the first of two that were made at the same time is kept
    deps drop KEY DRAFT                -> {}: it is of no use; fine when gone
    deps attach KEY                    -> {"device": "/dev/loopN" or "", "bytes": N}: a whole one; "" where none is
    deps remove KEY                    -> {}; fine when gone
    deps clear                         -> {}: all of them, whole or not

A whole one is ``KEY.img``, a draft ``KEY.DRAFT.draft``, which nobody is ever given. Nothing of either is mounted when
it is sealed, dropped or removed. Every command may be repeated.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.inside import loop
from sandbox.inside.bounds import Failed

_KEY = re.compile(r"[0-9a-f]{20}")
_DRAFT = re.compile(r"[0-9a-f]{8,32}")
# A setup phase takes minutes; a draft of this age is one whose process was killed.
OLD_DRAFT_SECONDS = 6 * 3600


@dataclass(frozen=True)
class DepStore:
    """A folder of images. ``store``: eight hex digits that tell this folder's devices from another's."""

    folder: Path
    dev: Path
    store: str

    def make(self, key: str, draft: str) -> Path:
        """Where to put the draft's image: old drafts are gone, and the folder is there."""
        self.folder.mkdir(exist_ok=True)
        for left in self.folder.glob("*.draft"):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - left.stat().st_mtime > OLD_DRAFT_SECONDS:
                    self._remove(left)
        return self._draft(key, draft)

    def attach_draft(self, key: str, draft: str) -> dict[str, object]:
        return {"device": self._attach(self._draft(key, draft))}

    def seal(self, key: str, draft: str) -> None:
        """Link, then unlink: killed in between, both names are of the same whole image."""
        image = self._draft(key, draft)
        if not image.is_file():
            if self._whole(key).is_file():
                return
            raise Failed("the dependencies that were made are gone")
        self._detach(image)
        with contextlib.suppress(FileExistsError):
            os.link(image, self._whole(key))
        image.unlink()

    def drop(self, key: str, draft: str) -> None:
        self._remove(self._draft(key, draft))

    def attach(self, key: str) -> dict[str, object]:
        image = self._whole(key)
        if not image.is_file():
            return {"device": "", "bytes": 0}
        device = next((one.path for one in self._devices(image)), None)
        return {"device": device or self._attach(image), "bytes": image.stat().st_blocks * 512}

    def remove(self, key: str) -> None:
        self._remove(self._whole(key))

    def clear(self) -> None:
        for image in [*self.folder.glob("*.img"), *self.folder.glob("*.draft")]:
            self._remove(image)

    def _whole(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise Failed("the key is not of 20 hexadecimal digits")
        return self.folder / f"{key}.img"

    def _draft(self, key: str, draft: str) -> Path:
        if not _DRAFT.fullmatch(draft):
            raise Failed("the draft's name is not of 8 to 32 hexadecimal digits")
        return self._whole(key).with_suffix(f".{draft}.draft")

    def _attach(self, image: Path) -> str:
        # A tag that no workspace of this folder can have: theirs begin with the digits and a slash.
        return loop.attach(self.dev, image, f"{self.store}.deps/{image.name}"[: loop.MAX_TAG_BYTES])

    def _devices(self, image: Path) -> Iterator[loop.Device]:
        look = image.stat()
        return (one for one in loop.attached(self.dev) if one.file == (look.st_dev, look.st_ino))

    def _detach(self, image: Path) -> None:
        for device in list(self._devices(image)):
            loop.detach(device.path)

    def _remove(self, image: Path) -> None:
        if image.exists():
            self._detach(image)
            image.unlink(missing_ok=True)


def run(deps: DepStore, argv: list[str], format_: Callable[[Path, int, int], None]) -> dict[str, object]:
    """One command. ``format_`` makes an image of so many bytes and inodes, or raises ``Failed`` without a trace."""
    match argv:
        case ["make", key, draft, size, inodes]:
            format_(deps.make(key, draft), int(size), int(inodes))
            return deps.attach_draft(key, draft)
        case ["seal", key, draft]:
            deps.seal(key, draft)
        case ["drop", key, draft]:
            deps.drop(key, draft)
        case ["attach", key]:
            return deps.attach(key)
        case ["remove", key]:
            deps.remove(key)
        case ["clear"]:
            deps.clear()
        case _:
            raise Failed("usage: deps make KEY DRAFT BYTES INODES | seal|drop KEY DRAFT | attach|remove KEY | clear")
    return {}
