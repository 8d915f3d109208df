"""Ceilings and plain impossibilities, each with its sentence (pure but for the clock-free values given)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sandbox.inside.bounds import MAX_CHANGED_BYTES, MAX_FILE_BYTES, MAX_PATH_BYTES, MIB, Refused
from sandbox.inside.manifest import SPECIAL, SYMLINK, Found
from sandbox.inside.names import examples, shown

# Git reads it whole when it looks for ignored files; a larger one is no list of names.
MAX_RULES_BYTES = MIB


def count(paths: Collection[bytes], most: int) -> None:
    """No more changed files than the job allows."""
    if len(paths) > most:
        raise Refused(f"{len(paths):,} files changed, more than the {most:,} allowed: {examples(paths)}")


def sizes(paths: Collection[bytes], found: Mapping[bytes, Found]) -> None:
    """Judged by ``lstat``, before anything is read: a sparse file of 20 GiB costs nothing here."""
    total = 0
    for path in sorted(paths):
        size = found[path].size
        total += size
        if size > MAX_FILE_BYTES:
            raise Refused(
                f"{shown(path)} is {size / MIB:,.0f} MiB large; at most {MAX_FILE_BYTES // MIB} MiB are allowed"
            )
    if total > MAX_CHANGED_BYTES:
        raise Refused(
            f"the changed files are {total / MIB:,.0f} MiB together; at most {MAX_CHANGED_BYTES // MIB} MiB are allowed"
        )


def lengths(paths: Collection[bytes]) -> None:
    for path in paths:
        if len(path) > MAX_PATH_BYTES:
            raise Refused(f"a path is longer than {MAX_PATH_BYTES:,} bytes: {shown(path)[:200]}…")


def special(found: Mapping[bytes, Found], tracked: Collection[bytes]) -> None:
    """Pipes, sockets and devices: none in the place of a tracked file, none under a name that Git opens."""
    for path in sorted(path for path, look in found.items() if look.mode == SPECIAL):
        if path in tracked:
            raise Refused(f"{shown(path)} was replaced by a pipe, socket or device, which a patch cannot carry")
        if path.rsplit(b"/", 1)[-1].startswith(b".git"):
            raise Refused(f"{shown(path)} is a pipe, socket or device under a name that Git reads")


def rules(found: Mapping[bytes, Found]) -> None:
    """Ignore files that Git may open."""
    for path, look in found.items():
        large = look.size > MAX_RULES_BYTES and look.mode != SYMLINK
        if large and path.rsplit(b"/", 1)[-1] == b".gitignore":
            raise Refused(f"{shown(path)} is larger than {MAX_RULES_BYTES // MIB} MiB")


def submodules(files: Collection[bytes]) -> None:
    if files:
        raise Refused(f"files were written into a submodule, which a patch cannot carry: {examples(files)}")


def known_again(unknown: Collection[bytes]) -> None:
    if unknown:
        raise Refused(
            "git apply would not take a patch of what the base commit holds in another form than its own attributes"
            f" ($Id$, encoding) ask for: {examples(unknown)}"
        )
