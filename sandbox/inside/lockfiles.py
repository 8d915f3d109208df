"""``python3 -I -m sandbox.inside.lockfiles PATH...``: the files that decide about a repository's dependencies.

Reads them from the work tree as it is now, which an agent may have written: no link is followed, nothing but regular
files is opened, and every size is bounded. A path that is a folder stands for all files in it, ``.`` for
all of the repository; one with ``*``, ``**`` or ``?`` for the files that it matches, in any folder where it names none.
Prints one JSON line: ``{"files": [[path, executable, base64], ...], "missing": [path, ...]}``; exit status
1 and ``{"error": words}`` where they cannot be read. Read-only, without network; may be run again.
"""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.inside.bounds import MAX_DEPTH, MAX_PATH_BYTES, MIB, Failed

WORK_TREE = Path("/ws/repo")
# They are copied into the setup phase's tmpfs, and travel through the service's memory.
MAX_BYTES = 16 * MIB
MAX_FILES = 5_000
MAX_ENTRIES = 100_000  # looked at in folders, of whatever kind
OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
KEPT_OUT = ".git"
_WILD = re.compile(r"[*?]")


@dataclass
class Taken:
    """What was read so far. Paths are relative to the work tree."""

    files: list[tuple[str, bool, bytes]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    bytes: int = 0
    entries: int = 0


def read(root: Path, paths: list[str]) -> Taken:
    """All of them, each once, in the order of their names. Raises ``Failed``."""
    taken = Taken()
    for path in sorted(set(paths)):
        parts = checked(path)
        top = os.open(root, OPEN | os.O_DIRECTORY)
        try:
            if not (_take_all(top, path, taken) if _WILD.search(path) else _take(top, parts, "", taken)):
                taken.missing.append(path)
        finally:
            os.close(top)
    unique = {path: (path, executable, data) for path, executable, data in taken.files}
    taken.files = [unique[path] for path in sorted(unique)]
    return taken


def checked(path: str) -> list[str]:
    """Its parts; ``.`` has none. Raises ``Failed`` for one that leads out of the repository or into its ``.git``."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    too_long = len(path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES
    if path.startswith("/") or ".." in parts or KEPT_OUT in parts or "\0" in path or too_long:
        raise Failed(f"{path[:100]!r} is no path of a file in the repository")
    return parts


def matches(pattern: str) -> re.Pattern[str]:
    """What a path with wildcards stands for: ``**/`` any folders, ``*`` and ``?`` within one name."""
    text = pattern if "/" in pattern else f"**/{pattern}"
    pieces = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    made = "".join(pieces.get(piece, re.escape(piece)) for piece in re.split(r"(\*\*/|\*\*|\*|\?)", text))
    return re.compile(rf"\A{made}\Z", re.DOTALL)


def _take_all(top: int, pattern: str, taken: Taken) -> bool:
    before = len(taken.files)
    _folder(top, "", taken, 0, matches(pattern))
    return len(taken.files) > before


def _take(parent: int, parts: list[str], prefix: str, taken: Taken) -> bool:
    """False where it is not there as a file or a folder, or only by way of a link."""
    if not parts:
        _folder(parent, prefix, taken, 0)
        return True
    name, rest = parts[0], parts[1:]
    try:
        handle = os.open(name, OPEN, dir_fd=parent)
    except OSError:
        return False
    try:
        look = os.fstat(handle)
        if stat.S_ISDIR(look.st_mode):
            return _take(handle, rest, f"{prefix}{name}/", taken)
        if rest or not stat.S_ISREG(look.st_mode):
            return False
        _file(handle, f"{prefix}{name}", look, taken)
        return True
    finally:
        os.close(handle)


def _folder(handle: int, prefix: str, taken: Taken, depth: int, wanted: re.Pattern[str] | None = None) -> None:
    """All files below it, or those that are ``wanted``."""
    if depth > MAX_DEPTH:
        raise Failed(f"{prefix[:100]!r} is nested too deep")
    for name in sorted(_names(handle, taken)):
        if name == KEPT_OUT:
            continue
        try:
            inner = os.open(name, OPEN, dir_fd=handle)
        except OSError:  # a link, or gone
            continue
        try:
            look = os.fstat(inner)
            if stat.S_ISDIR(look.st_mode):
                _folder(inner, f"{prefix}{name}/", taken, depth + 1, wanted)
            elif stat.S_ISREG(look.st_mode) and (wanted is None or wanted.match(f"{prefix}{name}")):
                _file(inner, f"{prefix}{name}", look, taken)
        finally:
            os.close(inner)


def _names(handle: int, taken: Taken) -> Iterator[str]:
    with os.scandir(handle) as entries:
        for entry in entries:
            taken.entries += 1
            if taken.entries > MAX_ENTRIES:
                raise Failed(f"there are more than {MAX_ENTRIES:,} files and folders to look through")
            yield entry.name


def _file(handle: int, path: str, look: os.stat_result, taken: Taken) -> None:
    taken.bytes += look.st_size
    if taken.bytes > MAX_BYTES or len(taken.files) >= MAX_FILES:
        raise Failed(f"the files are more than {MAX_FILES:,}, or larger than {MAX_BYTES // MIB} MiB together")
    with os.fdopen(os.dup(handle), "rb") as source:
        data = source.read(look.st_size + 1)
    if len(data) != look.st_size:
        raise Failed(f"{path[:100]!r} changed while it was read")
    try:
        path.encode()
    except UnicodeEncodeError as error:  # it could not travel in JSON
        raise Failed(f"{path[:100]!r} is a name that is no UTF-8") from error
    taken.files.append((path, bool(look.st_mode & stat.S_IXUSR), data))


def main(argv: list[str]) -> int:
    """The command: one JSON line, whatever happens."""
    try:
        taken = read(WORK_TREE, argv)
    except Exception as error:
        words = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        sys.stdout.write(json.dumps({"error": words[:2_000]}) + "\n")
        return 1
    files = [[path, executable, base64.b64encode(data).decode()] for path, executable, data in taken.files]
    sys.stdout.write(json.dumps({"files": files, "missing": taken.missing}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
