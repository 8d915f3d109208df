"""The head of a pull request at the commit that it had, over real ``git http-backend``: never a later one.

The commit is in the base repository's own store under ``refs/pull/N/head``, wherever the pull request came from, and a
host serves it by its id also when that ref has moved on (GitHub: any commit that it still has).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.inside import fetch
from sandbox.inside.bounds import Deadline
from sandbox.inside.fetchwords import sentence
from sandbox.inside.gitcmd import GitFailed
from tests.sandbox.inside.bases import commit, git
from tests.sandbox.inside.githost import serving
from tests.sandbox.inside.hosted import PATIENCE, Mirrored, mirrored

REF = "refs/pull/7/head"
WAYS = pytest.mark.parametrize("through_mirror", [True, False], ids=["mirror", "one commit"])


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Mirrored]:
    root = tmp_path / "host"
    root.mkdir()
    with serving(root) as host:
        made = mirrored(host, tmp_path)
        git(made.bare, "config", "--unset", "uploadpack.allowAnySHA1InWant")  # as hosts are by themselves
        yield made


def fetched(one: Mirrored, sha: str, through_mirror: bool, name: str = "t") -> tuple[Path, fetch.Fetched]:
    workspace, clean = one.folder / name / "ws", one.folder / name / "clean"
    (workspace / "repo").mkdir(parents=True)
    (clean / "data").mkdir(parents=True)
    wanted = one.wanted(REF, sha)
    kept = wanted.mirror if through_mirror else ""
    request = fetch.Wanted(wanted.url, REF, sha, "", PATIENCE, None, kept)
    done = fetch.fetch(request, workspace, clean, Deadline.after(PATIENCE), one.root)
    assert (done.mirror is not None) == through_mirror
    return workspace / "repo", done


def on(repo: Path, done: fetch.Fetched, sha: str, text: str) -> None:
    """That commit and no other is what the agent stands on, on no branch."""
    assert (done.base_commit, done.branch) == (sha, "")
    assert (repo / ".git" / "HEAD").read_text() == f"{sha}\n"
    assert (repo / "more").read_text() == text
    assert git(repo, "status", "--porcelain") == b""


@WAYS
def test_the_head_as_it_is(one: Mirrored, through_mirror: bool) -> None:
    sha = one.commit("mine", REF)
    repo, done = fetched(one, sha, through_mirror)
    on(repo, done, sha, "mine")


@WAYS
def test_b58_a_head_that_has_moved_on_is_left_where_it_was_when_the_task_was_asked_for(
    one: Mirrored, through_mirror: bool
) -> None:
    sha = one.commit("mine", REF)
    later = one.commit("later", REF)
    repo, done = fetched(one, sha, through_mirror)
    on(repo, done, sha, "mine")
    assert later not in git(repo, "log", "--all", "--format=%H").decode()


@WAYS
def test_b58_a_head_that_was_forced_to_something_else(one: Mirrored, through_mirror: bool) -> None:
    base = git(one.work, "rev-parse", "HEAD").decode().strip()
    sha = one.commit("mine", REF)
    git(one.work, "reset", "-q", "--hard", base)
    one.commit("quite another", REF)
    repo, done = fetched(one, sha, through_mirror)
    on(repo, done, sha, "mine")


@WAYS
def test_b58_between_two_tasks_on_one_head_each_has_its_own_commit(one: Mirrored, through_mirror: bool) -> None:
    first = one.commit("first", REF)
    on(*fetched(one, first, through_mirror, "a"), first, "first")
    second = one.commit("second", REF)
    on(*fetched(one, second, through_mirror, "b"), second, "second")
    on(*fetched(one, first, through_mirror, "c"), first, "first")


@WAYS
def test_a_fork_of_another_history_comes_from_the_base_repository(
    one: Mirrored, through_mirror: bool, tmp_path: Path
) -> None:
    fork = tmp_path / "fork"
    fork.mkdir()
    git(fork, "init", "-q", "-b", "main", ".")
    sha = commit(fork, {b"more": b"theirs"})
    git(fork, "push", "-q", str(one.bare), f"HEAD:{REF}")
    repo, done = fetched(one, sha, through_mirror)
    on(repo, done, sha, "theirs")
    assert {line.split()[1].split("/")[1] for line in one.host.requests} == {"plain.git"}


@WAYS
def test_a_commit_that_the_host_has_no_more_is_told_and_the_new_head_is_not_taken_instead(
    one: Mirrored, through_mirror: bool
) -> None:
    one.commit("the new head", REF)
    gone = "1" * 40
    with pytest.raises(GitFailed) as raised:
        fetched(one, gone, through_mirror)
    assert sentence(raised.value.words, REF, gone) == f"the git host does not serve the commit {gone}"
    assert list((one.folder / "t" / "ws" / "repo").iterdir()) == []
