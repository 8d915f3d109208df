"""Fetching over real HTTP from a real ``git http-backend``, and from bundles."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.inside import extract, fetch, manifest
from sandbox.inside.bounds import Deadline, Failed
from sandbox.inside.fetchwords import sentence
from sandbox.inside.gitcmd import GitFailed, TooSlow
from tests.sandbox.inside.applied import listing
from tests.sandbox.inside.bases import PLAIN, bundle, commit, git, make
from tests.sandbox.inside.githost import GitHost, serving

ORIGIN = "https://github.com/octo/plain"
# A fetch takes a tenth of a second here; a machine that swaps its caches has been seen to take half a minute.
PATIENCE = 120


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    root = tmp_path / "host"
    root.mkdir()
    with serving(root) as host:
        yield host


def repository(host: GitHost, name: str = "plain") -> Path:
    """A bare repository on the host, of one of the bases."""
    folder = host.root / f"{name}.git"
    folder.mkdir()
    git(folder, "init", "-q", "--bare", "-b", "main", ".")
    work = host.root / f"{name}.work"
    work.mkdir()
    make(work, name)
    git(work, "push", "-q", str(folder), "HEAD:refs/heads/main")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    return folder


def places(folder: Path) -> tuple[Path, Path]:
    workspace, clean = folder / "ws", folder / "clean"
    (workspace / "repo").mkdir(parents=True, exist_ok=True)
    (clean / "data").mkdir(parents=True, exist_ok=True)
    return workspace, clean


def wanted(host: GitHost, *, ref: str | None = None, commit: str | None = None, name: str = "plain") -> fetch.Wanted:
    return fetch.Wanted(f"{host.url}/{name}.git", ref, commit, ORIGIN, PATIENCE, None)


def fetched(request: fetch.Wanted, folder: Path) -> tuple[fetch.Fetched, Path, Path]:
    workspace, clean = places(folder)
    return fetch.fetch(request, workspace, clean, Deadline.after(request.seconds)), workspace / "repo", clean / "data"


def add(bare: Path, files: dict[bytes, bytes], ref: str) -> str:
    """One more commit on top of nothing, under the ref."""
    work = bare.parent / f"more-{ref.replace('/', '-')}"
    work.mkdir()
    git(work, "init", "-q", "-b", "main", ".")
    made = commit(work, files)
    git(work, "push", "-q", str(bare), f"HEAD:{ref}")
    return made


def test_default_branch_is_checked_out_with_a_manifest_and_a_neutral_origin(host: GitHost, tmp_path: Path) -> None:
    bare = repository(host)
    done, repo, data = fetched(wanted(host), tmp_path)
    assert done.base_commit == git(bare, "rev-parse", "main").decode().strip()
    assert done.branch == "main"
    assert (repo / "README.md").read_bytes() == PLAIN[b"README.md"]
    assert (repo / "tool.sh").stat().st_mode & stat.S_IXUSR
    assert (repo / "link").is_symlink()
    entries = manifest.read(data / "manifest")
    assert {path: (entry.mode, entry.sha256) for path, entry in entries.items()} == listing(repo)
    assert json.loads((data / "base.json").read_text())["base_commit"] == done.base_commit
    config = (repo / ".git" / "config").read_text()
    assert ORIGIN in config
    assert "127.0.0.1" not in config
    assert (repo / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert not (repo / ".git" / "hooks").exists()


def test_b64_one_commit_deep_and_no_tags(host: GitHost, tmp_path: Path) -> None:
    bare = repository(host)
    git(bare, "tag", "v1", "main")
    work = host.root / "plain.work"
    git(work, "commit", "-q", "--allow-empty", "-m", "two")
    git(work, "push", "-q", str(bare), "HEAD:refs/heads/main")
    done, repo, data = fetched(wanted(host), tmp_path)
    assert git(data / "git", "rev-list", "--all", "--count").strip() == b"1"
    assert git(repo, "log", "--format=%H").decode().split() == [done.base_commit]
    assert git(repo, "tag").strip() == b""
    assert git(repo, "status", "--porcelain").strip() == b""


@pytest.mark.parametrize("ref", ["topic/one", "refs/heads/topic/one"])
def test_branch_with_a_slash(host: GitHost, tmp_path: Path, ref: str) -> None:
    made = add(repository(host), {b"x": b"x\n"}, "refs/heads/topic/one")
    done, repo, _ = fetched(wanted(host, ref=ref), tmp_path)
    assert (done.base_commit, done.branch) == (made, "topic/one")
    assert (repo / "x").exists()


def test_tag_becomes_a_branch_of_its_name(host: GitHost, tmp_path: Path) -> None:
    bare = repository(host)
    git(bare, "tag", "-a", "-m", "x", "v1.0", "main")
    done, repo, _ = fetched(wanted(host, ref="v1.0"), tmp_path)
    assert done.base_commit == git(bare, "rev-parse", "main").decode().strip()
    assert (done.branch, (repo / ".git" / "HEAD").read_text()) == ("v1.0", "ref: refs/heads/v1.0\n")


def test_head_of_a_pull_request(host: GitHost, tmp_path: Path) -> None:
    made = add(repository(host), {b"pr": b"x\n"}, "refs/pull/5/head")
    done, repo, _ = fetched(wanted(host, ref="refs/pull/5/head"), tmp_path)
    assert (done.base_commit, done.branch) == (made, "")
    assert (repo / ".git" / "HEAD").read_text() == f"{made}\n"


def test_commit_wins_over_the_moved_branch_b58(host: GitHost, tmp_path: Path) -> None:
    bare = repository(host)
    base = git(bare, "rev-parse", "main").decode().strip()
    work = host.root / "plain.work"
    git(work, "commit", "-q", "--allow-empty", "-m", "two")
    git(work, "push", "-q", str(bare), "HEAD:refs/heads/main")
    done, repo, _ = fetched(wanted(host, ref="main", commit=base), tmp_path)
    assert (done.base_commit, done.branch) == (base, "main")
    done, repo, _ = fetched(wanted(host, commit=base), tmp_path)
    assert (done.base_commit, done.branch) == (base, "")
    assert (repo / ".git" / "HEAD").read_text() == f"{base}\n"


def test_fetching_again_starts_from_nothing(host: GitHost, tmp_path: Path) -> None:
    repository(host)
    _, repo, _ = fetched(wanted(host), tmp_path)
    (repo / "left").write_text("over")
    first = listing(repo)
    _, repo, _ = fetched(wanted(host), tmp_path)
    assert listing(repo).keys() == first.keys() - {b"left"}


def test_empty_repository_is_told(host: GitHost, tmp_path: Path) -> None:
    folder = host.root / "plain.git"
    folder.mkdir()
    git(folder, "init", "-q", "--bare", ".")
    with pytest.raises(Failed, match="the repository is empty"):
        fetched(wanted(host), tmp_path)


def test_a_default_branch_that_is_not_there_is_told(host: GitHost, tmp_path: Path) -> None:
    git(repository(host), "symbolic-ref", "HEAD", "refs/heads/gone")
    with pytest.raises(Failed, match="default branch is not there"):
        fetched(wanted(host), tmp_path)


@pytest.mark.parametrize("name", ["HEAD", "-x", "refs/heads/x", "0" * 40, "a$(id)'\"b"])
def test_g25_a_branch_of_any_name_is_checked_out_as_that_name(host: GitHost, tmp_path: Path, name: str) -> None:
    bare = repository(host)
    (bare / "refs/heads" / name).parent.mkdir(parents=True, exist_ok=True)
    (bare / "refs/heads" / name).write_bytes(git(bare, "rev-parse", "refs/heads/main"))
    (bare / "HEAD").write_text(f"ref: refs/heads/{name}\n")
    for number, ref in enumerate((None, f"refs/heads/{name}")):
        done, repo, _ = fetched(wanted(host, ref=ref), tmp_path / str(number))
        assert done.branch == name
        assert git(repo, "symbolic-ref", "HEAD").decode().strip() == f"refs/heads/{name}"


def test_unknown_ref_is_told_with_gits_own_words(host: GitHost, tmp_path: Path) -> None:
    repository(host)
    with pytest.raises(GitFailed, match="Remote branch nope not found") as raised:
        fetched(wanted(host, ref="nope"), tmp_path)
    assert sentence(raised.value.words, "nope", None) == "the repository has no branch or tag of the name nope"


def test_unknown_commit_is_told(host: GitHost, tmp_path: Path) -> None:
    repository(host)
    with pytest.raises(GitFailed) as raised:
        fetched(wanted(host, commit="1" * 40), tmp_path)
    assert sentence(raised.value.words, None, "1" * 40) == f"the git host does not serve the commit {'1' * 40}"


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "asks for a password"), (403, "refused the fetch"), (404, "no such repository"), (502, "it may pass")],
)
def test_refusal_of_the_host_is_told(host: GitHost, tmp_path: Path, status: int, words: str) -> None:
    repository(host)
    host.status = status
    with pytest.raises(GitFailed) as raised:
        fetched(wanted(host), tmp_path)
    assert words in sentence(raised.value.words, None, None)


def test_b61_host_that_hangs_ends_in_time(host: GitHost, tmp_path: Path) -> None:
    repository(host)
    host.hang.clear()
    workspace, clean = places(tmp_path)
    with pytest.raises(TooSlow):
        fetch.fetch(wanted(host), workspace, clean, Deadline.after(0.5))


def test_g14_submodules_and_lfs_are_not_fetched(host: GitHost, tmp_path: Path) -> None:
    repository(host, "submodule")
    done, repo, _ = fetched(wanted(host, name="submodule"), tmp_path)
    assert done.base_commit
    assert list((repo / "sub").iterdir()) == []
    assert all(" /submodule.git/" in line for line in host.requests)


def test_g14_hooks_of_a_path_with_carriage_return_do_not_run(host: GitHost, tmp_path: Path) -> None:
    """CVE-2025-48384 and its like need a recursive clone; nothing recurses here and hooks are off."""
    bare = repository(host)
    mark = tmp_path / "PWNED"
    hook = f"#!/bin/sh\ntouch {mark}\n".encode()
    modules = b'[submodule "x"]\n\tpath = "sub\r"\n\turl = ./x\n'
    add(bare, {b".gitmodules": modules, b"hooks/post-checkout": hook, b"sub\r/post-checkout": hook}, "refs/heads/evil")
    _, repo, _ = fetched(wanted(host, ref="evil"), tmp_path)
    assert (repo / "sub\r" / "post-checkout").exists()
    assert not mark.exists()


@pytest.mark.parametrize("name", ["ext::sh -c touch% PWNED", "file:///etc", "ssh://x/y", "-u"])
def test_g07_only_http_is_spoken(tmp_path: Path, name: str) -> None:
    workspace, clean = places(tmp_path)
    request = fetch.Wanted(name, None, None, "", 5, None)
    with pytest.raises(GitFailed):
        fetch.fetch(request, workspace, clean, Deadline.after(5))
    assert not list(tmp_path.rglob("PWNED"))


def test_bundle_with_a_branch_and_with_head_alone(tmp_path: Path) -> None:
    source = tmp_path / "bundle"
    source.write_bytes(bundle("plain"))
    done, repo, _ = fetched(fetch.Wanted("", None, None, "label", PATIENCE, source), tmp_path / "a")
    assert done.branch == "main"
    assert (repo / "README.md").exists()
    make_work = tmp_path / "work"
    make_work.mkdir()
    made = make(make_work, "plain")
    source.write_bytes(git(make_work, "bundle", "create", "-q", "-", "HEAD"))
    done, repo, _ = fetched(fetch.Wanted("", None, None, "label", PATIENCE, source), tmp_path / "b")
    assert (done.base_commit, (repo / "README.md").exists()) == (made, True)


def test_bundle_at_a_commit(tmp_path: Path) -> None:
    source = tmp_path / "bundle"
    source.write_bytes(bundle("plain"))
    work = tmp_path / "work"
    work.mkdir()
    made = make(work, "plain")
    done, _, _ = fetched(fetch.Wanted("", "main", made, "label", PATIENCE, source), tmp_path)
    assert (done.base_commit, done.branch) == (made, "main")


def test_broken_bundle_is_told(tmp_path: Path) -> None:
    source = tmp_path / "bundle"
    source.write_bytes(bundle("plain")[:-100])
    with pytest.raises(GitFailed):
        fetched(fetch.Wanted("", None, None, "label", PATIENCE, source), tmp_path)


def test_sha256_repository(host: GitHost, tmp_path: Path) -> None:
    folder = host.root / "plain.git"
    folder.mkdir()
    git(folder, "init", "-q", "--bare", "-b", "main", "--object-format=sha256", ".")
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main", "--object-format=sha256", ".")
    made = commit(work, {b"a": b"a\n"})
    git(work, "checkout", "-q", "-f", "main")
    git(work, "push", "-q", str(folder), "HEAD:refs/heads/main")
    done, repo, _ = fetched(wanted(host), tmp_path / "task")
    assert done.base_commit == made
    assert git(repo, "status", "--porcelain") == b""
    (repo / "b").write_bytes(b"b\n")
    for side in ("ws", "clean"):
        (tmp_path / "task" / side / "id").write_text("0123456789abcdef")
    (tmp_path / "x").mkdir()
    limits, places = extract.Limits(1000, 10), (tmp_path / "task" / "ws", tmp_path / "task" / "clean")
    given = extract.extract(*places, tmp_path / "x", limits, Deadline.after(PATIENCE))
    assert given.header["refusal"] == ""
    git(work, "apply", "--index", "-", stdin=given.patch or b"")
    assert git(work, "show", ":b") == b"b\n"


def test_request_is_read_and_judged(tmp_path: Path) -> None:
    request = tmp_path / "fetch.json"
    request.write_text(json.dumps({"url": "http://127.0.0.1:9002/o/r.git", "ref": None, "commit": None, "agent": "x"}))
    read = fetch.read_request(tmp_path)
    assert (read.ref, read.commit, read.bundle, read.seconds) == (None, None, None, fetch.DEFAULT_SECONDS)
    request.write_text(json.dumps({"url": "u", "ref": "--output=x"}))
    with pytest.raises(Failed, match="not a name"):
        fetch.read_request(tmp_path)
    request.write_text("[1]")
    with pytest.raises(Failed, match="cannot be read"):
        fetch.read_request(tmp_path)
