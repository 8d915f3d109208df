"""A Git directory of our own in a temporary folder: the base's objects are read through it, and nothing else.

Its configuration, index, attributes and new objects are ours. The agent's ``.git`` is never opened, and not even the
clean directory's configuration is used: of that, the object store alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sandbox.inside.bounds import Deadline, Failed
from sandbox.inside.gitcmd import Git

CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\tlogallrefupdates = false\n{more}"
# Unspecified means: Git looks for a NUL to tell binary from text. Nobody can hide a text change with "-diff",
# neither the agent nor the base (G13). This file outranks every .gitattributes.
ATTRIBUTES = "* !diff !merge\n"
SHA256_HEX = 64


@dataclass(frozen=True)
class Scratch:
    """``tracked`` sees the agent's files as its work tree; ``plain`` sees an empty folder and objects only."""

    folder: Path
    base: str
    tracked: Git
    plain: Git

    def beside(self, name: str, work_tree: Path) -> Git:
        """Git over the same objects with an index and a work tree of its own."""
        return _git(self.folder, name, work_tree, self.base, self.plain.deadline)


def make(folder: Path, objects: Path, work_tree: Path, base: str, deadline: Deadline) -> Scratch:
    """Lay the directory out in ``folder``, which is empty. Raises ``Failed`` where the base is not in ``objects``."""
    git = folder / "git"
    (git / "objects" / "info").mkdir(parents=True)
    (git / "refs").mkdir()
    (git / "info").mkdir()
    (folder / "empty").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/none\n")
    long = len(base) == SHA256_HEX
    more = "[extensions]\n\tobjectFormat = sha256\n" if long else ""
    (git / "config").write_text(CONFIG.format(version=int(long), more=more))
    (git / "info" / "attributes").write_text(ATTRIBUTES)
    (git / "info" / "exclude").write_text("")
    if not objects.is_dir():
        raise Failed("the clean Git directory is not there")
    (git / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    tracked = _git(folder, "index", work_tree, base, deadline)
    plain = _git(folder, "index.plain", folder / "empty", base, deadline)
    return Scratch(folder, base, tracked, plain)


def _git(folder: Path, index: str, work_tree: Path, base: str, deadline: Deadline) -> Git:
    return Git(
        deadline,
        cwd=str(work_tree),
        extra={
            "GIT_DIR": str(folder / "git"),
            "GIT_WORK_TREE": str(work_tree),
            "GIT_INDEX_FILE": str(folder / index),
            # The rules of the base commit, not those in the work tree: an agent's "* -text" would mark every
            # untouched file as changed, or hide changes (git 2.43 or newer).
            "GIT_ATTR_SOURCE": base,
        },
    )
