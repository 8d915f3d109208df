"""The grammar of what may be fetched."""

from __future__ import annotations

import pytest

from sandbox.inside.bounds import Failed
from sandbox.inside.refs import branch_of, check_commit, check_ref

GOOD = ["main", "topic/one", "v1.0", "refs/pull/5/head", "feature#1", "ü", "a-b_c", "user@host"]
BAD = [
    "", "-x", "--output=x", "--upload-pack=touch x", "a..b", "a b", "a~1", "a^{tree}", "a:b", "a\nb", "a\\b",
    "@{1}", "a@{0}", "@", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.", "a*", "a?", "a[b", "x" * 256, "\x7f", "a\0",
]  # fmt: skip


@pytest.mark.parametrize("ref", GOOD)
def test_names_that_hosts_serve_pass(ref: str) -> None:
    assert check_ref(ref) == ref


@pytest.mark.parametrize("ref", BAD)
def test_g25_names_that_git_could_read_as_something_else_are_refused(ref: str) -> None:
    with pytest.raises(Failed, match="not a name"):
        check_ref(ref)


@pytest.mark.parametrize("commit", ["1" * 39, "1" * 41, "HEAD", "A" * 40, "-" + "1" * 39, "1" * 40 + "\n"])
def test_only_full_commit_ids_pass(commit: str) -> None:
    with pytest.raises(Failed, match="full commit id"):
        check_commit(commit)


def test_full_commit_ids_pass() -> None:
    assert check_commit("0123456789abcdef" * 2 + "01234567") == "0123456789abcdef" * 2 + "01234567"
    assert check_commit("a" * 64) == "a" * 64


def test_branch_of_a_ref() -> None:
    assert branch_of(None) == ""
    assert branch_of("main") == "main"
    assert branch_of("refs/heads/a/b") == "a/b"
    assert branch_of("refs/pull/5/head") == ""
