"""The independent look: every path of a work tree with its type, Git's mode, size and the sha256 of its raw bytes.

Written right after checkout to the clean volume, which the agent never sees, and compared after the task. It knows
nothing of Git's index, attributes or filters, so nothing planted in those can hide a change from it. Times are not
looked at: the agent can set them as it likes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.inside.bounds import MAX_DEPTH, MAX_ENTRIES, MAX_PATH_BYTES, Deadline, Failed, Refused
from sandbox.inside.names import shown

FILE, EXECUTABLE, SYMLINK, SPECIAL = "100644", "100755", "120000", "special"
CHUNK = 1 << 20


@dataclass(frozen=True)
class Found:
    """What a path is now, from ``lstat`` alone: nothing has been opened."""

    mode: str
    size: int


@dataclass(frozen=True)
class Entry:
    """What a path was at checkout."""

    mode: str
    size: int
    sha256: str


@dataclass
class Tree:
    """A walked work tree. Directories are not entries, as in Git."""

    found: dict[bytes, Found] = field(default_factory=dict)
    repositories: set[bytes] = field(default_factory=set)
    """Directories below the top that hold a ``.git`` of their own; what is in that ``.git`` is left out."""


@dataclass(frozen=True)
class Difference:
    """Which paths changed, by raw bytes, type and executable bit."""

    modified: frozenset[bytes]
    deleted: frozenset[bytes]
    new: frozenset[bytes]


def git_mode(mode: int) -> str:
    """As Git sees it: the owner's executable bit is all that counts of the permissions."""
    if stat.S_ISLNK(mode):
        return SYMLINK
    if stat.S_ISREG(mode):
        return EXECUTABLE if mode & stat.S_IXUSR else FILE
    return SPECIAL


def walk(root: Path, deadline: Deadline, most: int = MAX_ENTRIES) -> Tree:
    """Look at everything below ``root`` without opening or following anything. Raises ``Refused`` at a bound."""
    tree = Tree()
    stack: list[tuple[bytes, int]] = [(b"", 0)]
    seen = 0
    while stack:
        folder, depth = stack.pop()
        for name, status in _entries(root, folder):
            seen += 1
            path = folder + b"/" + name if folder else name
            _check(path, depth, seen, most)
            if name == b".git":
                if folder:
                    tree.repositories.add(folder)
            elif stat.S_ISDIR(status.st_mode):
                stack.append((path, depth + 1))
            else:
                tree.found[path] = Found(git_mode(status.st_mode), status.st_size)
        deadline.check()
    return tree


def _entries(root: Path, folder: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    with os.scandir(os.path.join(os.fsencode(root), folder)) as entries:
        for entry in entries:
            yield entry.name, entry.stat(follow_symlinks=False)


def _check(path: bytes, depth: int, seen: int, most: int) -> None:
    if seen > most:
        raise Refused(f"the work tree has more than {most:,} entries")
    if depth > MAX_DEPTH:
        raise Refused(f"directories are nested more than {MAX_DEPTH} deep: {shown(path)[:200]}…")
    # Ignored files may be longer; the bound for those that are taken is MAX_PATH_BYTES (taken.py).
    if len(path) > 4 * MAX_PATH_BYTES - 128:
        raise Refused(f"a path is longer than Git can take: {shown(path)[:200]}…")


def digest(root: Path, path: bytes, mode: str, deadline: Deadline) -> str:
    """sha256 of the content, or of the target where it is a symbolic link. Never follows a link."""
    full = os.path.join(os.fsencode(root), path)
    if mode == SYMLINK:
        return hashlib.sha256(os.readlink(full)).hexdigest()
    state = hashlib.sha256()
    for chunk in chunks(full):
        state.update(chunk)
        deadline.check()
    return state.hexdigest()


def chunks(full: bytes) -> Iterator[bytes]:
    """The content of a regular file. A link or a pipe in its place is an error and not followed, nor waited for."""
    handle = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while chunk := os.read(handle, CHUNK):
            yield chunk
    finally:
        os.close(handle)


def take(root: Path, deadline: Deadline) -> dict[bytes, Entry]:
    """The manifest of a fresh checkout."""
    found = walk(root, deadline).found
    return {path: Entry(look.mode, look.size, digest(root, path, look.mode, deadline)) for path, look in found.items()}


def write(entries: dict[bytes, Entry], target: Path) -> None:
    """``MODE SIZE SHA256 PATH`` and a NUL each, in the order of the bytes."""
    with target.open("wb") as out:
        for path in sorted(entries):
            entry = entries[path]
            out.write(f"{entry.mode} {entry.size} {entry.sha256} ".encode() + path + b"\0")


def read(source: Path) -> dict[bytes, Entry]:
    """What ``write`` wrote. Anything else raises ``Failed``."""
    raw = source.read_bytes()
    if raw and not raw.endswith(b"\0"):
        raise Failed("the manifest is cut short")
    entries: dict[bytes, Entry] = {}
    for record in raw.split(b"\0")[:-1]:
        parts = record.split(b" ", 3)
        if len(parts) != 4:
            raise Failed("the manifest cannot be read")
        mode, size, sha256, path = parts
        entries[path] = Entry(mode.decode(), int(size), sha256.decode())
    return entries


def compare(before: dict[bytes, Entry], tree: Tree, root: Path, deadline: Deadline) -> Difference:
    """Which paths differ. A file is read only where type, mode and size are as before, so at most the base's bytes
    are read, whatever the agent left.
    """
    found = tree.found
    modified = {
        path
        for path, entry in before.items()
        if (look := found.get(path)) is not None
        and (
            (look.mode, look.size) != (entry.mode, entry.size)
            or digest(root, path, look.mode, deadline) != entry.sha256
        )
    }
    return Difference(
        modified=frozenset(modified),
        deleted=frozenset(before.keys() - found.keys()),
        new=frozenset(found.keys() - before.keys()),
    )
