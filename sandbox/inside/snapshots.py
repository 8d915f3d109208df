"""Saved workspaces beside the living ones: ``NAME.ROLE.ID.snap``. A draft never has that name, so what has it is whole.

Which of a sandbox's snapshots counts is the service's to say: it writes the id down once both files are there.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sandbox.inside import sparse
from sandbox.inside.bounds import Failed
from sandbox.inside.e2fs import repair, replace_file

ID = re.compile(r"[0-9a-f]{16}")


def path(image: Path, identity: str) -> Path:
    """Where the snapshot of an image is, by the image's own place. Raises ``Failed`` for an id that is none."""
    if not ID.fullmatch(identity):
        raise Failed("the snapshot's id is not of 16 hexadecimal digits")
    return image.with_name(image.name.removesuffix(".img") + f".{identity}.snap")


def save(images: dict[str, Path], identity: str) -> dict[str, object]:
    """Copy every image, whole or not at all: bytes taken on disk, and digests by role. Nothing is mounted."""
    made = {role: path(image, identity) for role, image in images.items()}
    digests = {}
    os.sync()  # a mount that a namespace of somebody else's has kept is written out, and its journal tells the rest
    try:
        for role, image in images.items():
            if not image.is_file():
                raise Failed(f"there is no image for the {role} volume")
            digests[role] = _copied(image, made[role])
    except BaseException:
        for file in made.values():
            file.unlink(missing_ok=True)
        raise
    return {"size": sum(sparse.taken(file) for file in made.values()), "digests": digests}


def restore(saved: dict[str, Path], images: dict[str, Path], digests: dict[str, str], identity: str) -> None:
    """Images from a snapshot, with an id of their own in them. Raises ``Failed``; the caller then removes ``images``.

    An image has its name only when it is whole and is what was saved.
    """
    drafts = {role: _draft(image) for role, image in images.items()}
    try:
        for role, file in saved.items():
            if not file.is_file():
                raise Failed("it is not there any more")
            drafts[role].unlink(missing_ok=True)
            if sparse.copy(file, drafts[role]) != digests[role]:
                raise Failed("it is damaged")
        for role, draft in drafts.items():
            repair(draft)
            _identify(draft, identity)
            _keep(draft, images[role])
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def left(folder: Path, name: str, but: str = "") -> Iterable[Path]:
    """Snapshots and drafts of this name; ``but``: those of this id do not count."""
    for file in folder.glob(f"{name}.*"):
        if file.name.endswith((".snap", ".draft")) and not (but and f".{but}.snap" in file.name):
            yield file


def _copied(image: Path, target: Path) -> str:
    draft = _draft(target)
    draft.unlink(missing_ok=True)
    try:
        digest = sparse.copy(image, draft)
        _keep(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    return digest


def _draft(target: Path) -> Path:
    return target.with_name(f"{target.name}.draft")


def _keep(draft: Path, target: Path) -> None:
    """There after a power cut, too."""
    with draft.open("rb") as handle:
        os.fsync(handle.fileno())
    os.replace(draft, target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _identify(image: Path, identity: str) -> None:
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(identity)
        file.flush()
        replace_file(image, "id", Path(file.name))
