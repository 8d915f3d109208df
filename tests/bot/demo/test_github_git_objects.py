"""Objects and references of a real repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.demo import github_git
from bot.demo import github_git_objects as objects


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "a.git"
    github_git.create(folder, "main")
    github_git.commit(folder, {"README.md": b"# Hello\n", "sub/x": b"x"}, branch="main", message="Start\n")
    return folder


def test_a_tree_is_its_base_with_the_entries_in_place(git_dir: Path) -> None:
    base = objects.read_commit(git_dir, "main").tree
    blob = objects.write_blob(git_dir, b"\x00\xff")
    tree = objects.write_tree(
        git_dir,
        base,
        [
            {"path": "README.md", "sha": None},
            {"path": "bin", "mode": "100755", "sha": blob},
            {"path": "link", "mode": "120000", "content": "sub/x"},
        ],
    )
    found = {item["path"]: item["mode"] for item in objects.read_tree(git_dir, tree, recursive=True)}
    assert found == {"bin": "100755", "link": "120000", "sub": "040000", "sub/x": "100644"}
    assert objects.read_blob(git_dir, blob) == b"\x00\xff"


def test_a_commit_comes_back_as_it_was_made(git_dir: Path) -> None:
    first = objects.read_commit(git_dir, "main")
    made = objects.write_commit(git_dir, first.tree, [first.sha], "Two\n\nlines", ("A", "a@b.c"), 1_750_000_000)
    commit = objects.read_commit(git_dir, made)
    assert (commit.parents, commit.message, commit.author, commit.seconds) == (
        (first.sha,),
        "Two\n\nlines",
        "A",
        1_750_000_000,
    )
    assert objects.contains(git_dir, first.sha, made)
    assert not objects.contains(git_dir, made, first.sha)


def test_what_is_not_there_is_none(git_dir: Path) -> None:
    assert objects.ref(git_dir, "refs/heads/nowhere") is None
    assert objects.file_at(git_dir, "main", "nothing") is None
    assert not objects.exists(git_dir, "a" * 40, "blob")
    with pytest.raises(objects.GitRefused):
        objects.read_blob(git_dir, "a" * 40)


def test_a_reference_comes_from_another_repository(git_dir: Path, tmp_path: Path) -> None:
    other = tmp_path / "b.git"
    github_git.create(other, "main")
    objects.fetch(other, git_dir, "refs/heads/main", "refs/pull/1/head")
    assert objects.ref(other, "refs/pull/1/head") == objects.ref(git_dir, "refs/heads/main")
    objects.delete_ref(other, "refs/pull/1/head")
    assert objects.ref(other, "refs/pull/1/head") is None
