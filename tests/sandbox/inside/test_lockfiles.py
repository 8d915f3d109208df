"""The files that decide about dependencies, read from a tree that an agent may have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.inside import lockfiles
from sandbox.inside.bounds import MIB, Failed


def taken(root: Path, *paths: str) -> dict[str, bytes]:
    return {path: data for path, _, data in lockfiles.read(root, list(paths)).files}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    (repo / "web" / "inner").mkdir(parents=True)
    (repo / ".git").mkdir()
    (repo / ".git" / "config").write_text("secret")
    (repo / "package.json").write_text("{}")
    (repo / "web" / "package.json").write_text("{1}")
    (repo / "web" / "inner" / "run.sh").write_text("#!/bin/sh\n")
    (repo / "web" / "inner" / "run.sh").chmod(0o755)
    return repo


def test_files_folders_and_the_whole_repository(root: Path) -> None:
    assert taken(root, "package.json") == {"package.json": b"{}"}
    assert taken(root, "web", "./web/package.json") == {
        "web/inner/run.sh": b"#!/bin/sh\n", "web/package.json": b"{1}",
    }  # fmt: skip
    assert taken(root, ".").keys() == {"package.json", "web/package.json", "web/inner/run.sh"}
    assert [one[1] for one in lockfiles.read(root, ["web/inner"]).files] == [True]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("package.jso?", ["package.json", "web/package.json"]),  # in any folder
        ("*/package.json", ["web/package.json"]),
        ("**/package.json", ["package.json", "web/package.json"]),
        ("web/**", ["web/inner/run.sh", "web/package.json"]),
        ("**/*.sh", ["web/inner/run.sh"]),
        ("*.none", []),
        ("pack[a]ge.*", []),
    ],
)
def test_wildcards(root: Path, pattern: str, found: list[str]) -> None:
    read = lockfiles.read(root, [pattern])
    assert [path for path, _, _ in read.files] == found
    assert read.missing == ([] if found else [pattern])


def test_what_is_missing_is_named(root: Path) -> None:
    read = lockfiles.read(root, ["package-lock.json", "package.json/x", "package.json"])
    assert read.missing == ["package-lock.json", "package.json/x"]
    assert [path for path, _, _ in read.files] == ["package.json"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "web/../../x", ".git/config", "a\0b", "x" * 2000])
def test_nothing_outside_of_the_files_is_named(root: Path, path: str) -> None:
    with pytest.raises(Failed, match="no path of a file"):
        lockfiles.read(root, [path])


def test_no_link_is_followed_and_nothing_special_opened(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("secret")
    (root / "lock").symlink_to(tmp_path / "secret" / "key")
    (root / "dir").symlink_to(tmp_path / "secret")
    os.mkfifo(root / "pipe")
    (root / "web" / "up").symlink_to("..")
    read = lockfiles.read(root, ["lock", "dir/key", "pipe", "web", "."])
    assert read.missing == ["dir/key", "lock", "pipe"]
    assert all(b"secret" not in data for _, _, data in read.files)


def test_bounds(root: Path) -> None:
    with (root / "large").open("wb") as out:
        out.truncate(17 * MIB)
    with pytest.raises(Failed, match="larger than 16 MiB together"):
        lockfiles.read(root, ["large"])
    (root / "large").unlink()
    deep = root
    for _ in range(205):
        deep = deep / "d"
        deep.mkdir()
    with pytest.raises(Failed, match="nested too deep"):
        lockfiles.read(root, ["."])
