"""An earlier result is laid into a fresh checkout, so that the agent goes on from it.

HEAD and the index stay the base's, so the earlier work shows in the agent's ``git diff`` as what is not committed yet;
the manifest was taken before, so it counts as changed in the final diff, which is cumulative.
"""

from __future__ import annotations

from pathlib import Path

from sandbox.inside.bounds import Failed
from sandbox.inside.gitcmd import Git, GitFailed, TooSlow
from sandbox.inside.names import shown

# What git says where the file system and not the patch was in the way.
FULL = ("No space left on device", "Disk quota exceeded")


class Unfit(Failed):
    """The patch is of another commit; ``str()`` is a sentence without its full stop."""


def lay(patch: Path, repo: Path, base: str, git: Git) -> None:
    """Apply the whole patch or nothing of it; an empty one changes nothing. ``repo``: the checkout of ``base``, as it
    was made. Raises ``Unfit``, ``Failed`` or ``TooSlow``."""
    if not patch.stat().st_size:
        return
    inside = _git(git, repo, base, "index")
    try:
        # In an index of its own, as the patch was proved: how a checkout spells line ends or $Id$ has no part in it.
        tree = _tree(_git(git, repo, base, "index.earlier"), patch, base)
        inside.run("read-tree", "--reset", "-u", "--no-recurse-submodules", tree)
        inside.run("reset", "--quiet", "--mixed", "--intent-to-add", "--no-refresh", base)
    except TooSlow:
        raise
    except GitFailed as error:
        raise _told(error.words) from error
    finally:
        (repo / ".git" / "index.earlier").unlink(missing_ok=True)


def _git(git: Git, repo: Path, base: str, index: str) -> Git:
    """The base's rules say how a blob becomes a file and a file a blob, as they did when the patch was made, also where
    the patch edits those rules."""
    inner = repo / ".git"
    places = {"GIT_DIR": str(inner), "GIT_WORK_TREE": str(repo), "GIT_INDEX_FILE": str(inner / index)}
    return Git(git.deadline, cwd=str(repo), extra={**git.extra, **places, "GIT_ATTR_SOURCE": base}, flags=git.flags)


def _tree(git: Git, patch: Path, base: str) -> str:
    git.run("read-tree", base)
    git.run("apply", "--cached", "--whitespace=nowarn", "--", str(patch))
    return git.run("write-tree").out.decode().strip()


def _told(words: str) -> Failed:
    if any(sign in words for sign in FULL):
        return Failed("the repository with the earlier result does not fit into the workspace")
    lines = [line.removeprefix("error: ") for line in words.splitlines() if line.strip()]
    reason = shown(lines[0].encode())[:300] if lines else "no reason given"
    return Unfit(f"The earlier result no longer fits the commit that the task starts from: {reason}")
