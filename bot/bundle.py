"""A person's own repository as a git bundle: how ``gofer run --repo PATH`` carries it into a sandbox.

Host git runs here, on the repository of the very person who types the command and before any agent has seen it.
Nothing that came out of a sandbox ever comes near this module.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

# A bundle travels in memory and by the engine's archive API; a larger history should be cloned from a URL.
MAX_BUNDLE_BYTES = 512 * 2**20
# Packing half a gigabyte takes well under a minute; a hung file system should not hang the command for ever.
GIT_SECONDS = 120


class NotARepository(Exception):
    """The path cannot be bundled; ``str()`` says why and what to do."""


def bundle_head(path: Path) -> bytes:
    """Everything that HEAD reaches, as one bundle. Uncommitted files are not in it. ``path`` may be a folder inside.

    Raises ``NotARepository`` with words for the person at the keyboard.
    """
    if not path.is_dir():
        raise NotARepository(f"{path} is not a directory; a repository elsewhere is given by its https URL.")
    # Git names a bundle's output as seen from the work tree, and "-" too: in a sub-folder it would be a file "sub/-".
    # Inside the git directory there is no such prefix (but a file HEAD, hence the "--").
    place = Path(_git(path, "rev-parse", "--absolute-git-dir").stdout.decode("utf-8", "surrogateescape").rstrip("\n"))
    if _git(path, "rev-parse", "--verify", "-q", "HEAD", check=False).returncode != 0:
        raise NotARepository(f"{path} is not a git repository with at least one commit: HEAD names none.")
    data = _git(place, "--git-dir", ".", "bundle", "create", "-q", "-", "HEAD", "--").stdout
    if len(data) > MAX_BUNDLE_BYTES:
        raise NotARepository(
            f"The history of {path} packs to {len(data) >> 20} MiB; the limit is {MAX_BUNDLE_BYTES >> 20} MiB. "
            "Give the URL of the repository instead."
        )
    return data


def uncommitted(path: Path) -> list[str]:
    """Paths whose changes the agent will not see, as ``git status --porcelain`` prints them; none without work tree."""
    if _git(path, "rev-parse", "--is-inside-work-tree").stdout.strip() != b"true":
        return []
    listed = _git(path, "status", "--porcelain", "--untracked-files=normal").stdout
    return listed.decode("utf-8", "replace").splitlines()


def _git(path: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    try:
        done = subprocess.run(["git", "-C", path, *arguments], capture_output=True, timeout=GIT_SECONDS, check=False)
    except FileNotFoundError:
        raise NotARepository("git is not installed here: install it and run this again.") from None
    except subprocess.TimeoutExpired:
        raise NotARepository(f"git did not end within {GIT_SECONDS} s in {path}.") from None
    if check and done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip()
        raise NotARepository(f"{path} is not a git repository that can be used here. Git says: {words}")
    return done
