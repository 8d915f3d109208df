"""``python3 -I -m sandbox.inside.extract PATCH_BYTES PATCH_FILES CONTENT_BYTES``: a patch of the agent's work tree.

Runs after the agent's death in a container without network, the workspace and the clean directory read-only. Prints
one JSON line (the fields of ``sandbox.job.Changes`` but the patch, ``patch_length``, and with each file its
``content_length``, null where it is not given), then the patch's bytes and those of the files in their order.
Exit status 1 and ``{"error": words}`` where nothing can be said; that is never "no change". May be run again: it
writes to its own temporary folder alone.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path

from sandbox.inside import checks, contents, manifest, newfiles, notes, patch, scratch, staging
from sandbox.inside.agree import Agreement, agree, disputed
from sandbox.inside.bounds import EXTRACT_SECONDS, MIB, Deadline, Failed, Refused
from sandbox.inside.gitcmd import GitFailed, TooMuch, TooSlow
from sandbox.inside.names import some

WORKSPACE = Path("/ws")
CLEAN = Path("/clean")
MAX_ID_BYTES = 256
MAX_BASE_JSON_BYTES = 64 * 1024


@dataclass(frozen=True)
class Limits:
    """The job's own ceilings on the patch, and on what changed files hold together."""

    patch_bytes: int
    patch_files: int
    content_bytes: int = 32 * MIB


@dataclass(frozen=True)
class Extracted:
    """``patch`` is None where ``header["refusal"]`` says why. ``contents``: of the header's files, in their order."""

    header: dict[str, object]
    patch: bytes | None
    contents: tuple[bytes | None, ...] = ()


@dataclass(frozen=True)
class View:
    """What is known of the base (manifest, index modes, submodules), and where the agent's files are."""

    root: Path
    before: dict[bytes, manifest.Entry]
    modes: dict[bytes, str]
    gitlinks: frozenset[bytes]
    place: scratch.Scratch


def extract(workspace: Path, clean: Path, folder: Path, limits: Limits, deadline: Deadline) -> Extracted:
    """Look, judge, make the patch and prove it, in ``folder`` (empty). Raises ``Failed`` where nothing can be said."""
    same_id(workspace / "id", clean / "id")
    base = base_commit(clean / "data" / "base.json")
    before = manifest.read(clean / "data" / "manifest")
    header: dict[str, object] = {
        "base_commit": base,
        "refusal": "",
        "files": [],
        "ignored_count": 0,
        "ignored_examples": [],
        "notes": [],
    }
    root = workspace / "repo"
    place = scratch.make(folder, clean / "data" / "git" / "objects", root, base, deadline)
    modes = staging.read_base(place.tracked, base)
    gitlinks = staging.check_modes(modes, before)
    view = View(root, before, modes, gitlinks, place)
    try:
        made = _patch(view, limits, header)
    except Refused as refusal:
        return Extracted({**header, "refusal": str(refusal)}, None)
    except (TooSlow, TooMuch) as error:
        return Extracted({**header, "refusal": f"the work tree could not be read: {error}"}, None)
    return Extracted(header, *made)


def _patch(view: View, limits: Limits, header: dict[str, object]) -> tuple[bytes, tuple[bytes | None, ...]]:
    """The steps in their order: nothing is opened before its size and type have been judged."""
    tree = manifest.walk(view.root, view.place.plain.deadline)
    found = tree.found
    checks.special(found, view.before)
    checks.rules(found)
    difference = manifest.compare(view.before, tree, view.root, view.place.plain.deadline)
    checks.sizes(difference.modified, found)
    new = _new(view, difference, found)
    header["ignored_count"] = len(new.ignored | new.leftovers)
    header["ignored_examples"] = some(new.newly_ignored) or some(new.ignored | new.leftovers)
    checks.submodules(new.in_submodules)
    checks.count(difference.modified | difference.deleted | new.taken, limits.patch_files)
    checks.sizes(difference.modified | new.taken, found)
    checks.lengths(new.taken)
    settled, converted = _settle(difference, view)
    converted |= staging.converted(view.place.tracked, new.taken)
    entries, made = _make(view, settled, new.taken, found, converted, limits)
    checks.known_again(_unknown_again(view, settled))
    held = contents.take(view.place.plain, entries, limits.content_bytes)
    header["files"] = [
        {**entry.header(), "content_length": None if piece is None else len(piece)}
        for entry, piece in zip(entries, held.pieces, strict=True)
    ]
    links = {entry.path: _target(view.root, entry.path) for entry in entries if entry.new_mode == manifest.SYMLINK}
    gone = {path for path in view.gitlinks if not _is_folder(view.root, path)}
    submodules = gone | (view.gitlinks & tree.repositories)
    header["notes"] = [
        *notes.about_tracked(settled.normalised, submodules),
        *notes.about_new(new),
        *notes.about_repositories(tree.repositories - submodules, new.taken, new),
        *notes.about_links(links),
        *notes.about_attributes({entry.path for entry in entries}, converted),
        *notes.about_contents(held.left_out),
    ]
    return made, held.pieces


def _new(view: View, difference: manifest.Difference, found: dict[bytes, manifest.Found]) -> newfiles.NewFiles:
    """Sort the new files by what becomes of them."""
    rules_changed = any(map(newfiles.is_rules, difference.modified | difference.deleted | difference.new))
    return newfiles.sort(difference.new, found, view.modes, view.gitlinks, view.place, rules_changed)


def _make(
    view: View,
    settled: Agreement,
    taken: Collection[bytes],
    found: dict[bytes, manifest.Found],
    converted: dict[bytes, set[str]],
    limits: Limits,
) -> tuple[list[patch.Change], bytes]:
    """Stage, write the patch, and prove it three ways: the paths, the blobs, and the tree that it gives."""
    place = view.place
    written = settled.modified | frozenset(taken)
    staged = staging.stage(place.tracked, settled.deleted, written)
    entries = patch.changes(place.plain, place.base, staged)
    patch.compare_paths({entry.path for entry in entries}, written | settled.deleted)
    patch.compare_blobs(view.root, entries, found, converted, place.plain.deadline)
    made = patch.text(place.plain, place.base, staged, limits.patch_bytes)
    patch.prove(place.beside("index.proof", place.folder / "empty"), place.base, staged, made)
    return entries, made


def _unknown_again(view: View, settled: Agreement) -> set[bytes]:
    """Files of the base that a checkout gives in a form in which `git apply` would not find what the patch changes."""
    touched = settled.modified | settled.deleted
    risky = {path for path, by in staging.converted(view.place.tracked, touched).items() if by & staging.APPLIED}
    if not risky:
        return set()
    checks.sizes(risky, {path: manifest.Found(view.before[path].mode, view.before[path].size) for path in risky})
    folder = view.place.folder / "checkout"
    folder.mkdir()
    return staging.unknown_again(view.place.beside("index.checkout", folder), view.place.base, risky)


def _settle(difference: manifest.Difference, view: View) -> tuple[Agreement, dict[bytes, set[str]]]:
    """Ask Git for its own look and hold it against the manifest's."""
    by_git = staging.changed(view.place.tracked) - view.gitlinks
    questions = disputed(difference, by_git)
    converted = staging.converted(view.place.tracked, questions | difference.modified)
    return agree(difference, by_git, converted), converted


def _target(root: Path, path: bytes) -> bytes:
    return os.readlink(os.path.join(os.fsencode(root), path))


def _is_folder(root: Path, path: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(os.path.join(os.fsencode(root), path)).st_mode)
    except OSError:
        return False


def same_id(one: Path, other: Path) -> None:
    """Both volumes carry the random id of this sandbox: another or an empty volume is an error, never a diff."""
    first, second = _small(one, MAX_ID_BYTES), _small(other, MAX_ID_BYTES)
    if not first or first != second:
        raise Failed("the workspace is not the one that was prepared: its id is missing or wrong")


def base_commit(source: Path) -> str:
    """The recorded commit, from the clean volume."""
    try:
        base = json.loads(_small(source, MAX_BASE_JSON_BYTES))["base_commit"]
    except (ValueError, KeyError, TypeError) as error:
        raise Failed("the record of the base commit cannot be read") from error
    if not isinstance(base, str) or len(base) not in {40, 64} or set(base) - set("0123456789abcdef"):
        raise Failed("the record of the base commit is no commit id")
    return base


def _small(path: Path, most: int) -> bytes:
    """A small file; a link is not followed. Empty where it cannot be read."""
    try:
        return b"".join(manifest.chunks(os.fsencode(path)))[:most]
    except OSError:
        return b""


def main(argv: list[str]) -> int:
    """The command. Whatever goes wrong ends in an error line, never in silence."""
    try:
        if len(argv) != len(fields(Limits)):
            raise Failed("usage: extract PATCH_BYTES PATCH_FILES CONTENT_BYTES")
        limits = Limits(*map(int, argv))
        with tempfile.TemporaryDirectory(prefix="extract-") as folder:
            result = extract(WORKSPACE, CLEAN, Path(folder), limits, Deadline.after(EXTRACT_SECONDS))
    except (Failed, GitFailed) as error:
        return _give_up(str(error))
    except Exception as error:  # fails closed: what we did not think of is an error too
        return _give_up(f"the extractor broke: {type(error).__name__}: {error}")
    body = result.patch or b""
    line = json.dumps({**result.header, "patch_length": len(body)})
    sys.stdout.buffer.writelines([line.encode("ascii"), b"\n", body, *(piece or b"" for piece in result.contents)])
    sys.stdout.buffer.flush()
    return 0


def _give_up(words: str) -> int:
    sys.stdout.write(json.dumps({"error": words[:2_000]}) + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
