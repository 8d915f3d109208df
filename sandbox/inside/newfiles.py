"""Which new files are taken, and why the others are not: listed always, hidden never.

The rules are those that the patch would leave behind: the ``.gitignore`` files of the work tree. What they ignore
and the base's own did not is told apart, so that an edited ``.gitignore`` hides nothing from a reviewer. The agent's
``.git/info/exclude`` and its configuration do not count.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from sandbox.inside.gitcmd import Git, GitFailed, TooMuch, TooSlow
from sandbox.inside.manifest import SPECIAL, Found
from sandbox.inside.scratch import Scratch
from sandbox.inside.staging import nul

# Made by tools beside the work, by the thousand, and never reviewed: left out and listed, unless the base has them.
LEFTOVERS = frozenset({b"node_modules", b"__pycache__", b".venv", b".pytest_cache", b".mypy_cache", b".ruff_cache"})


@dataclass
class NewFiles:
    """New paths by what becomes of them."""

    taken: set[bytes] = field(default_factory=set)
    ignored: set[bytes] = field(default_factory=set)
    newly_ignored: set[bytes] = field(default_factory=set)
    """Part of ``ignored``: the base's own rules would not have ignored them."""
    leftovers: set[bytes] = field(default_factory=set)
    special: set[bytes] = field(default_factory=set)
    in_submodules: set[bytes] = field(default_factory=set)


def sort(
    new: Collection[bytes],
    found: dict[bytes, Found],
    modes: dict[bytes, str],
    gitlinks: Collection[bytes],
    scratch: Scratch,
    rules_changed: bool,
) -> NewFiles:
    """Decide on every new path. ``rules_changed``: some ``.gitignore`` differs from the base's."""
    result = NewFiles()
    result.special = {path for path in new if found[path].mode == SPECIAL}
    result.in_submodules = {path for path in new if path in gitlinks or _below(path, gitlinks)}
    result.special -= result.in_submodules
    rest = set(new) - result.special - result.in_submodules
    result.ignored = ignored(scratch.tracked, rest)
    if rules_changed and result.ignored:
        result.newly_ignored = result.ignored - ignored(_base_rules(scratch, modes), result.ignored)
    rest -= result.ignored
    result.leftovers = leftovers(rest, modes)
    result.taken = rest - result.leftovers
    return result


def ignored(git: Git, paths: Iterable[bytes]) -> set[bytes]:
    """Those that the ``.gitignore`` files of this work tree ignore."""
    # A file may be called ":(exclude)x", which is a pathspec to Git, and it does not take them literally here.
    wanted = nul(b"./" + path for path in paths)
    if not wanted:
        return set()
    try:
        answer = git.run("check-ignore", "-z", "--stdin", "--no-index", stdin=wanted)
    except (TooSlow, TooMuch):
        raise
    except GitFailed as error:
        if error.code == 1:  # none is ignored
            return set()
        raise
    return {path.removeprefix(b"./") for path in answer.out.split(b"\0")[:-1]}


def leftovers(paths: Iterable[bytes], tracked: Collection[bytes]) -> set[bytes]:
    """Those below a tool's folder that has no tracked file in the base."""
    kept: dict[bytes, bool] = {}
    found = set()
    for path in paths:
        folder = _leftover_folder(path)
        if folder is None:
            continue
        if folder not in kept:
            kept[folder] = any(name.startswith(folder + b"/") for name in tracked)
        if not kept[folder]:
            found.add(path)
    return found


def _leftover_folder(path: bytes) -> bytes | None:
    parts = path.split(b"/")[:-1]
    for index, part in enumerate(parts):
        if part in LEFTOVERS:
            return b"/".join(parts[: index + 1])
    return None


def _below(path: bytes, folders: Collection[bytes]) -> bool:
    """Whether one of the folders is a parent of the path."""
    if not folders:
        return False
    parts = path.split(b"/")
    return any(b"/".join(parts[:index]) in folders for index in range(1, len(parts)))


def is_rules(path: bytes) -> bool:
    return path.rsplit(b"/", 1)[-1] == b".gitignore"


def _base_rules(scratch: Scratch, modes: dict[bytes, str]) -> Git:
    """A folder that holds the base's ``.gitignore`` files and nothing else, as a work tree."""
    root = scratch.folder / "rules"
    root.mkdir()
    for path, mode in modes.items():
        if is_rules(path) and mode.startswith("100"):
            name = os.fsdecode(path)
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(scratch.plain.run("cat-file", "blob", f"{scratch.base}:{name}").out)
    return scratch.beside("index.rules", root)
