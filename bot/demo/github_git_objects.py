"""Objects and references of a bare repository, as GitHub's Git database API makes them. Real git; blocking."""

from __future__ import annotations

import base64
import os
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.demo.github_git import GIT_SECONDS, environment


class GitRefused(Exception):
    """git's own words."""


@dataclass(frozen=True)
class CommitObject:
    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    author: str
    email: str
    seconds: int


def run(git_dir: Path, *arguments: str, stdin: bytes = b"", extra: dict[str, str] | None = None) -> bytes:
    """git's standard output. Raises ``GitRefused``."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=git_dir,
        env={**environment(git_dir), **(extra or {})},
        input=stdin,
        capture_output=True,
        timeout=GIT_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise GitRefused(done.stderr.decode(errors="replace").strip())
    return done.stdout


def write_blob(git_dir: Path, content: bytes) -> str:
    return run(git_dir, "hash-object", "-w", "--stdin", stdin=content).decode().strip()


def read_blob(git_dir: Path, sha: str) -> bytes:
    return run(git_dir, "cat-file", "blob", sha)


def exists(git_dir: Path, sha: str, kind: str) -> bool:
    try:
        return run(git_dir, "cat-file", "-t", sha).decode().strip() == kind
    except GitRefused:
        return False


def write_tree(git_dir: Path, base: str, entries: Iterable[dict[str, Any]]) -> str:
    """``base`` with the entries in place: each has path, mode, and sha (None: removed) or content."""
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        if base:
            run(git_dir, "read-tree", base, extra=index)
        lines = []
        for entry in entries:
            path = os.fsencode(entry["path"])
            if "sha" in entry and entry["sha"] is None:
                lines.append(b"0 " + b"0" * 40 + b"\t" + path + b"\0")
                continue
            sha = entry.get("sha") or write_blob(git_dir, entry["content"].encode())
            lines.append(f"{entry['mode']} {sha}\t".encode() + path + b"\0")
        run(git_dir, "update-index", "-z", "--index-info", stdin=b"".join(lines), extra=index)
        return run(git_dir, "write-tree", extra=index).decode().strip()


def read_tree(git_dir: Path, sha: str, *, recursive: bool = False) -> list[dict[str, Any]]:
    listed = run(git_dir, "ls-tree", "-z", "-l", *(["-r", "-t"] if recursive else []), sha)
    found = []
    for line in listed.split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            mode, kind, name, size = head.decode().split()
            item: dict[str, Any] = {"path": path.decode(errors="replace"), "mode": mode, "type": kind, "sha": name}
            if kind == "blob":
                item["size"] = int(size)
            found.append(item)
    return found


def write_commit(git_dir: Path, tree: str, parents: Iterable[str], message: str, who: tuple[str, str], at: int) -> str:
    name, email = who
    signed = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in
              (("NAME", name), ("EMAIL", email), ("DATE", f"{at} +0000"))}  # fmt: skip
    before = [word for parent in parents for word in ("-p", parent)]
    return run(git_dir, "commit-tree", tree, *before, stdin=message.encode(), extra=signed).decode().strip()


def read_commit(git_dir: Path, sha: str) -> CommitObject:
    shown = run(git_dir, "show", "-s", "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%B", sha).decode()
    commit, tree, parents, author, email, seconds, message = shown.split("\0", 6)
    return CommitObject(commit, tree, tuple(parents.split()), message.rstrip("\n"), author, email, int(seconds))


def set_ref(git_dir: Path, ref: str, sha: str) -> None:
    run(git_dir, "update-ref", ref, sha)


def delete_ref(git_dir: Path, ref: str) -> None:
    run(git_dir, "update-ref", "-d", ref)


def ref(git_dir: Path, name: str) -> str | None:
    """The commit of a full reference; None where there is none."""
    try:
        return run(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name).decode().strip()
    except GitRefused:
        return None


def contains(git_dir: Path, ancestor: str, commit: str) -> bool:
    try:
        run(git_dir, "merge-base", "--is-ancestor", ancestor, commit)
    except GitRefused:
        return False
    return True


def file_at(git_dir: Path, commit: str, path: str) -> bytes | None:
    """A file's content at a commit; None where it is not, or is no file."""
    try:
        return run(git_dir, "cat-file", "blob", f"{commit}:{path}")
    except GitRefused:
        return None


def fetch(git_dir: Path, other: Path, name: str, to: str) -> None:
    """Bring a reference of another repository in here, as GitHub does for the head of a fork's pull request."""
    run(git_dir, "fetch", "--quiet", "--no-tags", str(other), f"+{name}:{to}")


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
