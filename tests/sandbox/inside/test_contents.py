"""The blobs that a patch describes, against real git: whole, bounded, and nothing else than what was asked for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox.inside import contents
from sandbox.inside.bounds import MAX_CONTENT_BYTES, Deadline, Failed
from sandbox.inside.gitcmd import Git
from sandbox.inside.patch import Change
from tests.sandbox.inside.bases import ENVIRONMENT, git

PATIENCE = 120


@pytest.fixture
def store(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", ".")
    return tmp_path


def change(store: Path, path: bytes, content: bytes | None, mode: str = "100644") -> Change:
    """As if this file had been changed to these bytes; None: it was deleted."""
    if content is None:
        return Change(path, "deleted", mode, "", "0" * 40, False, 0, 0)
    name = git(store, "hash-object", "-w", "--stdin", "--no-filters", stdin=content).decode().strip()
    return Change(path, "modified", mode, mode, name, False, 0, 0)


def taken(store: Path, entries: list[Change], most: int = 1 << 20) -> contents.Contents:
    return contents.take(Git(Deadline.after(PATIENCE), extra={"GIT_DIR": str(store / ".git")}), entries, most)


def test_bytes_come_whole_whatever_they_are_and_in_their_order(store: Path) -> None:
    pieces = [b"one\n", b"", None, b"\0\xff\r\n", b"1" * 40 + b" blob 5\nfalse", b"one\n", b"no newline"]
    entries = [change(store, b"%d" % number, piece) for number, piece in enumerate(pieces)]
    assert taken(store, entries) == contents.Contents(tuple(pieces), frozenset())


def test_nothing_changed_or_all_deleted(store: Path) -> None:
    assert taken(store, []) == contents.Contents((), frozenset())
    assert taken(store, [change(store, b"a", None)]) == contents.Contents((None,), frozenset())


def test_what_does_not_fit_stays_out_by_name_and_a_smaller_one_still_fits(store: Path) -> None:
    entries = [change(store, name, b"x" * size) for name, size in ((b"a", 60), (b"b", 50), (b"c", 40), (b"d", 1))]
    assert taken(store, entries, 100) == contents.Contents((b"x" * 60, None, b"x" * 40, None), frozenset({b"b", b"d"}))
    assert taken(store, entries, 0).left_out == {b"a", b"b", b"c", b"d"}


def test_one_file_has_a_bound_of_its_own(store: Path) -> None:
    entries = [change(store, b"a", b"x" * (MAX_CONTENT_BYTES + 1)), change(store, b"b", b"y" * MAX_CONTENT_BYTES)]
    found = taken(store, entries, 4 * MAX_CONTENT_BYTES)
    assert found.left_out == {b"a"}
    assert found.pieces == (None, b"y" * MAX_CONTENT_BYTES)


def test_an_object_that_is_gone_or_is_none_of_a_file_is_an_error(store: Path) -> None:
    gone = change(store, b"a", b"one\n")
    (store / ".git" / "objects" / gone.new_id[:2] / gone.new_id[2:]).unlink()
    with pytest.raises(Failed, match="does not find"):
        taken(store, [gone])
    tree = git(store, "write-tree").decode().strip()
    with pytest.raises(Failed, match="does not find"):
        taken(store, [Change(b"a", "added", "", "100644", tree, False, 1, 0)])


def test_an_object_that_is_not_what_its_name_says_is_an_error(store: Path) -> None:
    """The bytes are named anew here: a store that gives others under the same name is not believed."""
    good, bad = change(store, b"a", b"good\n"), change(store, b"b", b"evil\n")
    objects = store / ".git" / "objects"
    target = objects / good.new_id[:2] / good.new_id[2:]
    target.chmod(0o644)
    target.write_bytes((objects / bad.new_id[:2] / bad.new_id[2:]).read_bytes())
    with pytest.raises(Exception, match=r"something else|does not find|cat-file"):
        taken(store, [good])


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_names_are_gits(tmp_path: Path, kind: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={kind}", ".")
    for data in (b"", b"text\n", b"\0" * 100_000):
        done = subprocess.run(
            ["git", "hash-object", "--stdin"],
            input=data,
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            check=True,
        )
        name = done.stdout.decode().strip()
        assert contents.blob_name(data, len(name)) == name
