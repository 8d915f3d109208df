"""From two trees to a patch and its list of files, and the proof that the patch gives the second tree."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from sandbox.inside.bounds import Deadline, Refused
from sandbox.inside.gitcmd import Git, GitFailed, TooMuch, TooSlow
from sandbox.inside.manifest import EXECUTABLE, FILE, SYMLINK, Found, chunks
from sandbox.inside.names import examples, shown

STATUS = {"A": "added", "M": "modified", "T": "modified", "D": "deleted"}
ABSENT = "000000"


@dataclass(frozen=True)
class Change:
    """One entry of the patch. Modes are Git's, empty where the file is not; lines are 0 for binary files."""

    path: bytes
    status: str
    old_mode: str
    new_mode: str
    new_id: str
    binary: bool
    added: int
    removed: int

    def header(self) -> dict[str, object]:
        """As ``sandbox.job.ChangedFile`` has it, the path's bytes in base64."""
        return {
            "path": shown(self.path),
            "raw_path": base64.b64encode(self.path).decode("ascii"),
            "status": self.status,
            "old_mode": self.old_mode,
            "new_mode": self.new_mode,
            "binary": self.binary,
            "added": self.added,
            "removed": self.removed,
        }


def changes(git: Git, base: str, tree: str) -> list[Change]:
    """What differs between two trees, from the objects alone."""
    args = ("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "--raw", "--numstat")
    return parse(git.run(*args, f"{base}^{{tree}}", tree).out)


def parse(listing: bytes) -> list[Change]:
    """``--raw --numstat -z``: all raw records first, then one count a path."""
    fields = iter(listing.split(b"\0")[:-1])
    raw: dict[bytes, list[str]] = {}
    counts: dict[bytes, tuple[bytes, bytes]] = {}
    for record in fields:
        if record.startswith(b":"):
            raw[next(fields)] = record[1:].decode("ascii").split(" ")
        else:
            added, removed, path = record.split(b"\t", 2)
            counts[path] = (added, removed)
    return [_change(path, meta, counts.get(path, (b"0", b"0"))) for path, meta in raw.items()]


def _change(path: bytes, meta: list[str], counts: tuple[bytes, bytes]) -> Change:
    old_mode, new_mode, _, new_id, letter = meta
    if letter not in STATUS or new_mode not in {ABSENT, FILE, EXECUTABLE, SYMLINK}:
        raise Refused(f"{shown(path)} has the mode {new_mode}, which a patch cannot carry")
    binary = counts[0] == b"-"
    return Change(
        path=path,
        status=STATUS[letter],
        old_mode="" if old_mode == ABSENT else old_mode,
        new_mode="" if new_mode == ABSENT else new_mode,
        new_id=new_id,
        binary=binary,
        added=0 if binary else int(counts[0]),
        removed=0 if binary else int(counts[1]),
    )


def text(git: Git, base: str, tree: str, most: int) -> bytes:
    """The patch itself, or ``Refused`` where it is larger than ``most`` bytes or takes too long."""
    flags = ("-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
    try:
        answer = git.run("diff-tree", *flags, f"{base}^{{tree}}", tree, limit=most)
    except TooMuch as error:
        raise Refused(f"the patch is larger than the {most:,} bytes allowed") from error
    except TooSlow as error:
        raise Refused("the patch could not be made in time") from error
    return answer.out


def prove(git: Git, base: str, tree: str, patch: bytes) -> None:
    """Apply the patch to the base in an index of its own (``git``'s) and compare trees; else ``Refused``."""
    git.run("read-tree", base)
    if patch:
        try:
            git.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch)
        except GitFailed as error:
            raise Refused(
                f"the patch does not apply to the base: {shown(error.words.strip().encode())[:300]}"
            ) from error
    if git.run("write-tree").out.decode().strip() != tree:
        raise Refused("the patch, applied to the base, gives another tree than the one it was made from")


def compare_paths(got: set[bytes], wanted: Collection[bytes]) -> None:
    """The patch holds what was taken, all of it and nothing else."""
    if lost := set(wanted) - got:  # Git leaves out names such as .GIT/config with a mere warning
        raise Refused(f"Git cannot store what is in the work tree: {examples(lost)}")
    if got - set(wanted):
        raise Refused(f"Git's tree holds more than what was taken: {examples(got - set(wanted))}")


def compare_blobs(
    root: Path, entries: Iterable[Change], found: dict[bytes, Found], converted: Collection[bytes], deadline: Deadline
) -> None:
    """Content, looked at without Git: where nothing converts a file, its raw bytes are its blob's."""
    wrong = {
        entry.path
        for entry in entries
        if entry.new_mode
        and entry.path not in converted
        and (
            entry.new_mode != found[entry.path].mode
            or blob_id(root, entry.path, found[entry.path], len(entry.new_id), deadline) != entry.new_id
        )
    }
    if wrong:
        raise Refused(f"Git stored something else than what the files hold: {examples(wrong)}")


def blob_id(root: Path, path: bytes, look: Found, digits: int, deadline: Deadline) -> str:
    """Git's name for these bytes; ``digits`` is 40 for SHA-1, 64 for SHA-256."""
    # SHA-1 is what Git names objects with; nothing here rests on it alone.
    state = hashlib.sha256() if digits == 64 else hashlib.sha1(usedforsecurity=False)
    state.update(b"blob %d\0" % look.size)
    full = os.path.join(os.fsencode(root), path)
    if look.mode == SYMLINK:
        state.update(os.readlink(full))
        return state.hexdigest()
    for chunk in chunks(full):
        state.update(chunk)
        deadline.check()
    return state.hexdigest()
