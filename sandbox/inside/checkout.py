"""The agent's own checkout, made from the clean Git directory; it may do with it as it likes, nothing reads it back."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandbox.inside.gitcmd import Git

# Neutral: the commits that an agent makes for itself are never published. Without it its commits fail (B5).
BOT_NAME = "gofer"
BOT_EMAIL = "gofer@users.noreply.invalid"

CONFIG = """[core]
\trepositoryformatversion = {version}
\tbare = false
\tfilemode = true
\tlogallrefupdates = true
[gc]
\tauto = 0
[user]
\tname = {name}
\temail = {email}
"""
OBJECT_FORMAT = "[extensions]\n\tobjectFormat = sha256\n"


def make(clean_git: Path, repo: Path, base: str, branch: str, origin: str, git: Git) -> None:
    """Fill ``repo`` (an empty folder): objects, branch or detached head, ``origin``, then the files."""
    inner = repo / ".git"
    inner.mkdir()
    shutil.copytree(clean_git / "objects", inner / "objects")
    (inner / "refs").mkdir()
    (inner / "info").mkdir()
    (inner / "info" / "exclude").write_text("")
    if (clean_git / "shallow").exists():
        shutil.copyfile(clean_git / "shallow", inner / "shallow")
    long = len(base) == 64
    config = CONFIG.format(version=int(long), name=BOT_NAME, email=BOT_EMAIL)
    (inner / "config").write_text(config + (OBJECT_FORMAT if long else ""))
    (inner / "HEAD").write_text(f"ref: refs/heads/{branch}\n" if branch else f"{base}\n")
    if branch:
        git.run("update-ref", f"refs/heads/{branch}", base)
    _origin(git, branch, origin, base)
    git.run("read-tree", "--reset", "-u", "--no-recurse-submodules", base)


def _origin(git: Git, branch: str, origin: str, base: str) -> None:
    """The public address, for the agent to read; it cannot reach it."""
    if not origin:
        return
    git.run("config", "remote.origin.url", origin)
    git.run("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    if branch:
        git.run("update-ref", f"refs/remotes/origin/{branch}", base)
        git.run("config", f"branch.{branch}.remote", "origin")
        git.run("config", f"branch.{branch}.merge", f"refs/heads/{branch}")
