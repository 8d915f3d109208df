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


def test_a_folder_inside_gives_the_same_bundle_and_gets_no_file(repository: Path, tmp_path: Path) -> None:
    (repository / "sub").mkdir()
    (tmp_path / "b").write_bytes(bundle_head(repository / "sub"))
    assert "HEAD" in git(repository, "bundle", "list-heads", str(tmp_path / "b"))
    assert list((repository / "sub").iterdir()) == []


def test_a_work_tree_beside_gives_its_own_head(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "beside"))
    git(tmp_path / "beside", "commit", "-q", "--allow-empty", "-m", "second")
    (tmp_path / "b").write_bytes(bundle_head(tmp_path / "beside"))
    heads = git(repository, "bundle", "list-heads", str(tmp_path / "b"))
    assert heads.split()[0] == git(tmp_path / "beside", "rev-parse", "HEAD").strip()


def test_a_submodule_s_folder_gives_a_bundle(repository: Path, tmp_path: Path) -> None:
    """Its git directory lies elsewhere and names its work tree."""
    (tmp_path / "outer").mkdir()
    git(tmp_path / "outer", "init", "-q")
    allow = ("-c", "protocol.file.allow=always")
    git(tmp_path / "outer", *allow, "submodule", "add", "-q", str(repository), "inner")
    (tmp_path / "outer" / "inner" / "sub").mkdir()
    assert bundle_head(tmp_path / "outer" / "inner" / "sub").startswith(b"# v2 git bundle")


def test_a_bare_repository_has_a_bundle_and_nothing_uncommitted(repository: Path, tmp_path: Path) -> None:
    git(repository, "clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    assert bundle_head(tmp_path / "bare").startswith(b"# v2 git bundle")
    assert uncommitted(tmp_path / "bare") == []


def test_a_path_that_is_not_there_is_told_from_one_without_git(tmp_path: Path) -> None:
    with pytest.raises(NotARepository, match=r"not a directory.*https URL"):
        bundle_head(tmp_path / "none")


def test_a_folder_that_is_no_repository_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(NotARepository, match="not a git repository"):
        bundle_head(tmp_path)


def test_a_repository_without_a_commit_is_refused_in_words(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(NotARepository, match="at least one commit"):
        bundle_head(tmp_path)
