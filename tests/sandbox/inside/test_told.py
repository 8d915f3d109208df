"""Instruction files of another commit: which are taken, what is left out, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.inside import fetch, told
from sandbox.inside.bounds import Deadline, Failed
from sandbox.inside.gitcmd import Git
from tests.sandbox.inside.bases import bundle, commit, git
from tests.sandbox.inside.githost import serving
from tests.sandbox.inside.hosted import Mirrored, mirrored

PATIENCE = 120
ALL = {b"CLAUDE.md": b"one", b".claude/CLAUDE.md": b"two", b"AGENTS.md": b"three", b"AGENTS.override.md": b"four"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", ".")
    return folder


def never(commit: str, ref: str) -> object:
    raise AssertionError("it is there already")


def taken(repo: Path, files: dict[bytes, bytes], modes: dict[bytes, str] | None = None) -> told.Told:
    made = commit(repo, files, modes)
    return told.take(Git(Deadline.after(PATIENCE), extra={"GIT_DIR": str(repo / ".git")}), made, never)


def test_those_at_the_root_are_taken_and_none_else(repo: Path) -> None:
    others = {b"CLAUDE.local.md": b"x", b"src/AGENTS.md": b"x", b"README.md": b"x", b"claude.md": b"x"}
    found = taken(repo, ALL | others)
    assert found.files == {name.decode(): data for name, data in ALL.items()}
    assert found.left_out == []


def test_none_is_none(repo: Path) -> None:
    assert taken(repo, {b"README.md": b"x"}) == told.Told()


def test_a_link_to_another_file_of_the_commit_is_followed(repo: Path) -> None:
    files = {b"docs/one.md": b"one", b"CLAUDE.md": b"AGENTS.md", b"AGENTS.md": b"docs/one.md"}
    files[b".claude/CLAUDE.md"] = b"../CLAUDE.md"
    links = dict.fromkeys((b"CLAUDE.md", b"AGENTS.md", b".claude/CLAUDE.md"), "120000")
    assert taken(repo, files, links).files == dict.fromkeys(("CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md"), b"one")


@pytest.mark.parametrize(
    "target",
    [
        b"/etc/passwd",
        b"../outside",
        b"../../../etc/passwd",
        b"CLAUDE.md",
        b"nowhere",
        b"docs",
        b".",
        b"*.md",
        b":(top)x",
    ],
)
def test_a_link_that_leads_nowhere_or_out_is_left_out(repo: Path, target: bytes) -> None:
    files = {b"docs/one.md": b"one", b"x": b"x", b"CLAUDE.md": target}
    found = taken(repo, files, {b"CLAUDE.md": "120000"})
    assert (found.files, found.left_out) == ({}, ["CLAUDE.md"])


def test_what_is_too_large_or_a_folder_is_left_out_by_name_and_the_others_are_taken(repo: Path) -> None:
    files = {b"CLAUDE.md": b"x" * (told.MAX_TOLD_BYTES + 1), b"AGENTS.md/x": b"x"}
    files[b"AGENTS.override.md"] = b"y" * told.MAX_TOLD_BYTES
    found = taken(repo, files)
    assert found.files == {"AGENTS.override.md": b"y" * told.MAX_TOLD_BYTES}
    assert found.left_out == ["CLAUDE.md", "AGENTS.md"]


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirrored]:
    root = tmp_path / "host"
    root.mkdir()
    with serving(root) as host:
        yield mirrored(host, tmp_path)


def pull_request(one: Mirrored) -> tuple[str, str]:
    """The base, on the default branch, and the head of a pull request that edits what the base says."""
    (one.work / "CLAUDE.md").write_text("base")
    git(one.work, "add", "CLAUDE.md")
    base = one.commit("base")
    (one.work / "CLAUDE.md").write_text("head")
    git(one.work, "add", "CLAUDE.md")
    return base, one.commit("head", "refs/pull/7/head")


@pytest.mark.parametrize("through_mirror", [True, False])
def test_they_come_from_the_host_or_the_mirror_and_not_from_the_head(
    mirror: Mirrored, tmp_path: Path, through_mirror: bool
) -> None:
    base, head = pull_request(mirror)
    done = fetched(mirror, tmp_path / "t", head, base, through_mirror)
    assert done.told == told.Told({"CLAUDE.md": b"base"})
    assert done.base_commit == head
    repo = tmp_path / "t" / "ws" / "repo"
    assert (repo / "CLAUDE.md").read_text() == "head"
    assert git(repo, "status", "--porcelain") == b""
    assert git(repo, "rev-parse", "HEAD").decode().strip() == head


def fetched(one: Mirrored, folder: Path, commit: str, instructions: str, through_mirror: bool = False) -> fetch.Fetched:
    workspace, clean = folder / "ws", folder / "clean"
    (workspace / "repo").mkdir(parents=True)
    (clean / "data").mkdir(parents=True)
    url, kept = f"{one.host.url}/{one.name}.git", one.wanted().mirror if through_mirror else ""
    wanted = fetch.Wanted(url, "refs/pull/7/head", commit, "", PATIENCE, None, kept, instructions=instructions)
    return fetch.fetch(wanted, workspace, clean, Deadline.after(PATIENCE), one.root)


@pytest.mark.parametrize("through_mirror", [True, False])
def test_a_commit_that_the_host_does_not_serve_is_told_and_ends_the_fetch(
    mirror: Mirrored, tmp_path: Path, through_mirror: bool
) -> None:
    _, head = pull_request(mirror)
    with pytest.raises(Failed, match=f"instructions .* does not serve the commit {'1' * 40}"):
        fetched(mirror, tmp_path / "t", head, "1" * 40, through_mirror)


def test_a_bundle_without_the_commit_is_told(tmp_path: Path) -> None:
    (tmp_path / "ws" / "repo").mkdir(parents=True)
    (tmp_path / "clean" / "data").mkdir(parents=True)
    (tmp_path / "bundle").write_bytes(bundle("plain"))
    wanted = fetch.Wanted("", None, None, "", PATIENCE, tmp_path / "bundle", instructions="1" * 40)
    with pytest.raises(Failed, match="the bundle does not hold"):
        fetch.fetch(wanted, tmp_path / "ws", tmp_path / "clean", Deadline.after(PATIENCE))
