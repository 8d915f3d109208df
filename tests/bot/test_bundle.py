"""Bundles of a person's own repository, made with real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bot.bundle import NotARepository, bundle_head, uncommitted


def git(path: Path, *arguments: str) -> str:
    command = ["git", "-C", str(path), "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "repo"
    path.mkdir()
    git(path, "init", "-q", "-b", "trunk")
    (path / "a.txt").write_text("one\n")
    git(path, "add", ".")
    git(path, "commit", "-qm", "first")
    return path


def test_the_bundle_gives_head_again(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(bundle_head(repository))
    subprocess.run(["git", "clone", "-q", str(tmp_path / "b"), str(tmp_path / "c")], check=True)
    assert git(tmp_path / "c", "rev-parse", "HEAD") == git(repository, "rev-parse", "HEAD")


def test_uncommitted_files_are_named_and_left_out(repository: Path) -> None:
    assert uncommitted(repository) == []
    (repository / "new file").write_text("x")
    assert len(uncommitted(repository)) == 1


def test_a_folder_that_is_no_repository_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(NotARepository, match="not a git repository"):
        bundle_head(tmp_path)


def test_a_repository_without_a_commit_is_refused_in_words(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(NotARepository, match="at least one commit"):
        bundle_head(tmp_path)
