"""Reading git's listing of a change, and the look at blobs without git."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.inside import patch
from sandbox.inside.bounds import Deadline, Refused
from sandbox.inside.manifest import FILE, Found
from tests.sandbox.inside.bases import git

ZERO, ONE, TWO = "0" * 40, "1" * 40, "2" * 40


def raw(old: str, new: str, letter: str, path: bytes, new_id: str = TWO) -> bytes:
    return f":{old} {new} {ONE} {new_id} {letter}\0".encode() + path + b"\0"


def test_raw_records_and_counts_are_joined_by_path() -> None:
    listing = raw("100644", "100755", "M", b"a\tb\nc") + raw("000000", "100644", "A", b"\xff")
    listing += b"3\t1\ta\tb\nc\0-\t-\t\xff\0"
    first, second = patch.parse(listing)
    assert (first.path, first.status, first.added, first.removed, first.binary) == (b"a\tb\nc", "modified", 3, 1, False)
    assert second.header() == {
        "path": "\\xff",
        "raw_path": "/w==",
        "status": "added",
        "old_mode": "",
        "new_mode": "100644",
        "binary": True,
        "added": 0,
        "removed": 0,
    }


@pytest.mark.parametrize("mode", ["160000", "040000", "100664"])
def test_g23_other_modes_are_refused(mode: str) -> None:
    with pytest.raises(Refused, match=f"mode {mode}"):
        patch.parse(raw("000000", mode, "A", b"x") + b"0\t0\tx\0")


def test_paths_that_git_left_out_or_added_are_refused() -> None:
    patch.compare_paths({b"a"}, {b"a"})
    with pytest.raises(Refused, match=r"cannot store.*\.GIT/x"):
        patch.compare_paths({b"a"}, {b"a", b".GIT/x"})
    with pytest.raises(Refused, match=r"holds more.*b"):
        patch.compare_paths({b"a", b"b"}, {b"a"})


@pytest.mark.parametrize("content", [b"", b"text\n", b"\0" * 3_000_000])
def test_blob_id_is_gits(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    expected = git(tmp_path, "hash-object", "--no-filters", "file").decode().strip()
    look = Found(FILE, len(content))
    assert patch.blob_id(tmp_path, b"file", look, 40, Deadline.after(30)) == expected


def test_g13_a_blob_that_is_not_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"what the file holds\n")
    entry = patch.parse(raw("100644", "100644", "M", b"file") + b"1\t1\tfile\0")
    found = {b"file": Found(FILE, 20)}
    with pytest.raises(Refused, match="something else than what the files hold: file"):
        patch.compare_blobs(tmp_path, entry, found, set(), Deadline.after(30))
    patch.compare_blobs(tmp_path, entry, found, {b"file"}, Deadline.after(30))
