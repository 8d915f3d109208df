"""Repositories that the tests of fetching and extracting start from, as git bundles made by real git."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from pathlib import Path

# Nothing of the developer's own configuration may count.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}
GIT_SECONDS = 60
BINARY = bytes(range(256)) * 8

PLAIN: dict[bytes, bytes] = {
    b"README.md": b"# Plain\n\nA repository.\n",
    b"src/app.py": b"def main():\n    return 1\n",
    b"docs/guide.md": b"one\ntwo\nthree\n",
    b"docs/.gitignore": b"draft*\n",
    b"run.sh": b"#!/bin/sh\necho run\n",
    b"logo.png": b"\x89PNG\r\n\x1a\n" + BINARY,
    b"empty": b"",
    b"latin1.txt": b"caf\xe9\nna\xefve\n",
    b"crlf.txt": b"one\r\ntwo\r\n",
    b"no-newline": b"no newline at the end",
    b"caf\xe9.txt": b"a name that is no UTF-8\n",
    b"a b.txt": b"space\n",
    b"keep.log": b"tracked, though ignored\n",
    b".gitignore": b"*.log\nbuild/\n",
}
ATTRIBUTES: dict[bytes, bytes] = {
    b".gitattributes": (
        b"* text=auto\n*.bat text eol=crlf\n*.id ident\n*.u16 text working-tree-encoding=UTF-16LE\n"
        b"hidden.txt -diff\n*.big filter=lfs diff=lfs merge=lfs -text\n*.bin binary\n"
    ),
    b"go.bat": b"@echo off\necho hi\n",
    b"version.id": b"$Id$\nline\n",
    b"wide.u16": b"wide\ntext\n",
    b"hidden.txt": b"one\ntwo\n",
    b"plain.txt": b"plain\n",
    b"asset.big": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    b"raw.bin": b"text marked as binary\n",
}
UNNORMALISED: dict[bytes, bytes] = {
    b".gitattributes": b"*.txt text\n*.bat eol=crlf\n*.id ident\n",
    b"a.txt": b"one\r\ntwo\r\n",
    b"old.id": b"$Id: as another system left it $\nline\n",
    b"b.bat": b"one\r\ntwo\r\n",
    b"c.md": b"fine\n",
}


def git(folder: Path, *args: str, stdin: bytes = b"") -> bytes:
    """Real git in a repository that the test made itself, never in one an agent could write."""
    done = subprocess.run(
        ["git", *args], cwd=folder, env=ENVIRONMENT, input=stdin, capture_output=True, timeout=GIT_SECONDS, check=False
    )
    assert done.returncode == 0, f"git {args}: {done.stderr.decode(errors='replace')}"
    return done.stdout


def commit(folder: Path, files: dict[bytes, bytes], modes: dict[bytes, str] | None = None, extra: bytes = b"") -> str:
    """Commit exactly these blobs as they are: no attribute or filter touches them on their way in."""
    lines = []
    for path, content in files.items():
        blob = git(folder, "hash-object", "-w", "--stdin", "--no-filters", stdin=content).decode().strip()
        lines.append(f"{(modes or {}).get(path, '100644')} {blob}\t".encode() + path + b"\0")
    git(folder, "update-index", "-z", "--add", "--index-info", stdin=b"".join(lines) + extra)
    tree = git(folder, "write-tree").decode().strip()
    made = git(folder, "commit-tree", "-m", "base", tree).decode().strip()
    git(folder, "update-ref", "HEAD", made)
    return made


def make(folder: Path, name: str) -> str:
    """One of the repositories below, in an empty folder; answers its commit."""
    git(folder, "init", "-q", "-b", "main", ".")
    if name == "plain":
        files = PLAIN | {b"tool.sh": b"#!/bin/sh\n", b"link": b"README.md"}
        return commit(folder, files, {b"tool.sh": "100755", b"link": "120000"})
    if name == "attributes":
        return commit(folder, ATTRIBUTES)
    if name == "unnormalised":
        return commit(folder, UNNORMALISED)
    assert name == "submodule"
    link = b"160000 " + b"1" * 40 + b"\tsub\0"
    modules = b'[submodule "sub"]\n\tpath = sub\n\turl = https://10.255.255.1/x.git\n'
    return commit(folder, {b".gitmodules": modules, b"file": b"x\n"}, extra=link)


NAMES = ("plain", "attributes", "unnormalised", "submodule")


@functools.cache
def bundle(name: str) -> bytes:
    """The repository as a bundle whose HEAD is the base commit."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder, name)
        return git(folder, "bundle", "create", "-q", "-", "HEAD", "main")
