"""Instruction files of another commit than the one that is checked out, whose author may not tell the agent anything.

They never touch the workspace, where they would show in the diff: they leave the helper in its answer, and the agent
finds copies in a place that it cannot write to. What is read here was written by whoever may write to the repository;
it is bounded all the same, and none of it is run.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field

from sandbox.inside.bounds import Failed
from sandbox.inside.fetchwords import sentence
from sandbox.inside.gitcmd import Git, GitFailed, TooMuch, TooSlow
from sandbox.inside.manifest import EXECUTABLE, FILE, SYMLINK

# At the root, whoever's CLI reads them. CLAUDE.local.md is one person's own and in no repository on purpose.
NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "AGENTS.override.md")
# Of one file. CLIs warn at a third of it, and it is paid for with every question.
MAX_TOLD_BYTES = 128 * 1024
# A link to a link to a link: CLAUDE.md -> AGENTS.md is common, more than one step is not.
MAX_LINKS = 3
MAX_TARGET_BYTES = 4_096
REF = "refs/gofer/told"

Fetch = Callable[[str, str], object]


@dataclass
class Told:
    """Contents by name. ``left_out``: names that are there and could not be taken."""

    files: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def take(git: Git, commit: str, fetch: Fetch) -> Told:
    """Those of ``commit``. ``git``: over the clean Git directory; ``fetch(commit, ref)`` brings it there, and is asked
    only where it is not there already. Raises ``Failed``, or ``TooSlow``."""
    try:
        if not _is_there(git, commit):
            fetch(commit, REF)
        told = Told()
        for name in NAMES:
            _take(git, commit, name, told)
        return told
    except TooSlow:
        raise
    except GitFailed as error:
        reason = sentence(error.words, None, commit)
        raise Failed(f"the instructions for the agent could not be read: {reason}") from error


def _take(git: Git, commit: str, name: str, told: Told) -> None:
    path, links = name, 0
    while (entry := _entry(git, commit, path)) is not None and entry[0] == SYMLINK and links < MAX_LINKS:
        target = git.run("cat-file", "blob", entry[1], limit=MAX_TARGET_BYTES).out.decode("utf-8", "surrogateescape")
        path, links = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)), links + 1
        if path.startswith(("/", "../")) or path in {"..", "."} or "\0" in path:
            told.left_out.append(name)
            return
    if entry is None and not links:
        return
    if entry is None or entry[0] not in {FILE, EXECUTABLE}:
        told.left_out.append(name)
        return
    try:
        told.files[name] = git.run("cat-file", "blob", entry[1], limit=MAX_TOLD_BYTES).out
    except TooMuch:
        told.left_out.append(name)


def _entry(git: Git, commit: str, path: str) -> tuple[str, str] | None:
    """Mode and object of a path; None where there is none. Whether it is a path and not a pattern: it is taken
    literally."""
    literal = Git(git.deadline, cwd=git.cwd, extra={**git.extra, "GIT_LITERAL_PATHSPECS": "1"}, flags=git.flags)
    listing = literal.run("ls-tree", "-z", "--full-tree", commit, "--", path).out.split(b"\0")[:-1]
    if len(listing) != 1:
        return None
    meta = listing[0].partition(b"\t")[0].decode("ascii").split(" ")
    return meta[0], meta[2]


def _is_there(git: Git, commit: str) -> bool:
    """The commit, and the tree that is read from: a shallow store may hold a commit's parents by name alone."""
    try:
        git.run("cat-file", "-e", f"{commit}^{{tree}}")
    except TooSlow:
        raise
    except GitFailed:
        return False
    return True
