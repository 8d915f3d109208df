"""Real bare repositories for the local GitHub. Their content is the demo's or a test's own, never an agent's.

git runs here with no configuration but ours, and only on repositories that were made here.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Fixed, so that the same files give the same commit ids on every machine.
AUTHOR = "Demo <demo@example.com>"
FIRST_COMMIT_SECONDS = 1_750_000_000
GIT_SECONDS = 60.0


@dataclass(frozen=True)
class File:
    """Content with a mode: ``100644``, ``100755``, ``120000`` (a symlink, the content is its target)."""

    content: bytes
    mode: str = "100644"


Files = Mapping[str, bytes | File] | Mapping[str | bytes, bytes | File]
"""By path; a path in bytes may be any that git takes."""


def environment(home: Path) -> dict[str, str]:
    """For every git process here: nothing of the user's or the machine's configuration, no questions, no prompts."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        # The folder may belong to another user than the one who runs the demo (root in a container).
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }


def create(git_dir: Path, branch: str) -> None:
    """An empty bare repository, set up as GitHub's are: any reachable commit and partial clones may be asked for."""
    git_dir.parent.mkdir(parents=True, exist_ok=True)
    _git(git_dir.parent, "init", "--quiet", "--bare", f"--initial-branch={branch}", "--template=", str(git_dir))
    for name, value in {
        "uploadpack.allowAnySHA1InWant": "true",
        "uploadpack.allowFilter": "true",
        "http.receivepack": "false",
        "core.protectNTFS": "false",  # so that tests can have any file name
        "core.protectHFS": "false",
    }.items():
        _git(git_dir, "config", name, value)


def commit(git_dir: Path, files: Files, *, branch: str, message: str) -> str:
    """Put one commit with exactly ``files`` on top of ``branch`` and return its id."""
    parent = head(git_dir, branch)
    count = int(_git(git_dir, "rev-list", "--count", branch)) if parent else 0
    seconds = FIRST_COMMIT_SECONDS + 60 * count
    stream = [f"commit refs/heads/{branch}\ncommitter {AUTHOR} {seconds} +0000\n".encode(), _data(message.encode())]
    if parent:
        stream.append(f"from {parent}\n".encode())
    stream.append(b"deleteall\n")
    for path, entry in files.items():
        file = entry if isinstance(entry, File) else File(entry)
        stream += [f"M {file.mode} inline ".encode(), quoted(path), b"\n", _data(file.content)]
    _git(git_dir, "fast-import", "--quiet", "--date-format=raw", stdin=b"".join(stream))
    return _git(git_dir, "rev-parse", f"refs/heads/{branch}")


def head(git_dir: Path, branch: str) -> str | None:
    """The commit that ``branch`` is at; None for a branch that is not."""
    ref = f"refs/heads/{branch}"
    lines = _git(git_dir, "for-each-ref", "--format=%(refname) %(objectname)", ref).splitlines()
    return next((line.split()[1] for line in lines if line.split()[0] == ref), None)


def quoted(path: str | bytes) -> bytes:
    """A path in fast-import's C style, byte by byte where need be."""
    raw = path.encode() if isinstance(path, str) else path
    plain = bytes(range(0x20, 0x7F)).replace(b'"', b"").replace(b"\\", b"")
    return b'"' + b"".join(bytes([c]) if c in plain else b"\\%03o" % c for c in raw) + b'"'


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment(folder),
        input=stdin,
        capture_output=True,
        timeout=GIT_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode().strip()
