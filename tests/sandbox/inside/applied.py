"""The judge of a patch: a fresh clone of the base, ``git apply``, and a listing of what is there then."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from tests.sandbox.inside.bases import bundle, git


def listing(root: Path) -> dict[bytes, tuple[str, str]]:
    """Path -> mode and sha256 of the raw bytes, by plain file reads."""
    found: dict[bytes, tuple[str, str]] = {}
    for folder, folders, names in os.walk(os.fsencode(root)):
        folders[:] = [name for name in folders if name != b".git"]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in names + links:
            path = os.path.join(folder, name)
            look = os.lstat(path)
            if stat.S_ISLNK(look.st_mode):
                mode, content = "120000", os.readlink(path)
            else:
                mode = "100755" if look.st_mode & 0o100 else "100644"
                content = Path(os.fsdecode(path)).read_bytes()
            found[os.path.relpath(path, os.fsencode(root))] = (mode, hashlib.sha256(content).hexdigest())
    return found


def clone(base: str, folder: Path) -> Path:
    """A fresh checkout of one of the bases."""
    source = folder / "base.bundle"
    source.write_bytes(bundle(base))
    target = folder / "clone"
    git(folder, "clone", "-q", "-b", "main", str(source), str(target))
    return target


def applied(base: str, patch: bytes, folder: Path) -> dict[bytes, tuple[str, str]]:
    """The tree that the patch gives on a fresh checkout. Fails the test where it does not apply cleanly."""
    target = clone(base, folder)
    if patch:
        git(target, "apply", "--whitespace=nowarn", "-", stdin=patch)
    return listing(target)
