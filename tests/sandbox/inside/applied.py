"""The judge of a patch: a fresh clone of the base, ``git apply``, and a listing of what is there then."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
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


def tree_of_patch(clone: Path, patch: bytes) -> str:
    """Git's id of the tree that the patch gives on the base of this clone, as blobs are: no work tree is touched."""
    git(clone, "read-tree", "HEAD")
    if patch:
        git(clone, "apply", "--cached", "--whitespace=nowarn", "-", stdin=patch)
    return git(clone, "write-tree").decode().strip()


def tree_of_contents(clone: Path, files: Iterable[tuple[bytes, str, bytes | None]]) -> str:
    """Git's id of the tree that the base of this clone has with these instead: path, mode and bytes of each file, a
    deletion where the mode is empty."""
    git(clone, "read-tree", "HEAD")
    gone, lines = [], []
    for path, mode, content in files:
        if not mode:
            assert content is None, path
            gone.append(path + b"\0")
            continue
        assert content is not None, path
        blob = git(clone, "hash-object", "-w", "--stdin", "--no-filters", stdin=content).strip()
        lines.append(mode.encode() + b" " + blob + b"\t" + path + b"\0")
    git(clone, "update-index", "-z", "--force-remove", "--stdin", stdin=b"".join(gone))
    git(clone, "update-index", "-z", "--add", "--index-info", stdin=b"".join(lines))
    return git(clone, "write-tree").decode().strip()


def applied(base: str, patch: bytes, folder: Path) -> dict[bytes, tuple[str, str]]:
    """The tree that the patch gives on a fresh checkout. Fails the test where it does not apply cleanly."""
    target = clone(base, folder)
    if patch:
        git(target, "apply", "--whitespace=nowarn", "-", stdin=patch)
    return listing(target)
