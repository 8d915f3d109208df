"""The manifest: what it sees, what it survives, what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.inside import bounds, manifest
from sandbox.inside.bounds import Deadline, Failed, Refused
from sandbox.inside.manifest import EXECUTABLE, FILE, SPECIAL, SYMLINK


def soon() -> Deadline:
    return Deadline.after(30)


def tree(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "file").write_bytes(b"one")
    (root / "run").write_bytes(b"run")
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("d")
    Path(os.fsdecode(os.path.join(os.fsencode(root), b"caf\xe9\nx"))).write_bytes(b"")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")


def test_every_kind_of_path_is_listed_and_the_git_directory_is_not(tmp_path: Path) -> None:
    tree(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    found = manifest.walk(tmp_path, soon()).found
    assert {path: look.mode for path, look in found.items()} == {
        b"d/file": FILE,
        b"run": EXECUTABLE,
        b"link": SYMLINK,
        b"caf\xe9\nx": FILE,
        b"pipe": SPECIAL,
    }


def test_it_reads_back_what_it_wrote(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    tree(root)
    entries = manifest.take(root, soon())
    manifest.write(entries, tmp_path / "manifest")
    assert manifest.read(tmp_path / "manifest") == entries


@pytest.mark.parametrize("cut", [1, 20])
def test_a_manifest_that_is_cut_short_is_an_error(tmp_path: Path, cut: int) -> None:
    root = tmp_path / "root"
    root.mkdir()
    tree(root)
    manifest.write(manifest.take(root, soon()), tmp_path / "manifest")
    raw = (tmp_path / "manifest").read_bytes()
    (tmp_path / "manifest").write_bytes(raw[:-cut])
    with pytest.raises(Failed, match="cut short"):
        manifest.read(tmp_path / "manifest")
    (tmp_path / "manifest").write_bytes(b"no manifest\0")
    with pytest.raises(Failed, match="cannot be read"):
        manifest.read(tmp_path / "manifest")


def compared(root: Path, before: dict[bytes, manifest.Entry]) -> manifest.Difference:
    return manifest.compare(before, manifest.walk(root, soon()), root, soon())


def test_same_size_and_forged_times_are_seen(tmp_path: Path) -> None:
    tree(tmp_path)
    before = manifest.take(tmp_path, soon())
    stamp = os.stat(tmp_path / "d" / "file")
    (tmp_path / "d" / "file").write_bytes(b"two")
    os.utime(tmp_path / "d" / "file", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert compared(tmp_path, before).modified == {b"d/file"}


def test_mode_type_target_deletion_and_addition_are_seen(tmp_path: Path) -> None:
    tree(tmp_path)
    before = manifest.take(tmp_path, soon())
    (tmp_path / "run").chmod(0o644)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("x")
    (tmp_path / "d" / "file").unlink()
    (tmp_path / "new").write_bytes(b"")
    difference = compared(tmp_path, before)
    assert difference.modified == {b"run", b"link"}
    assert difference.deleted == {b"d/file"}
    assert difference.new == {b"new"}


def test_permissions_that_git_does_not_keep_are_no_change(tmp_path: Path) -> None:
    tree(tmp_path)
    before = manifest.take(tmp_path, soon())
    (tmp_path / "d" / "file").chmod(0o600)
    assert compared(tmp_path, before) == manifest.Difference(frozenset(), frozenset(), frozenset())


def test_a_nested_repository_is_named_and_its_git_directory_left_out(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "d" / ".git").mkdir()
    (tmp_path / "d" / ".git" / "x").write_text("x")
    looked = manifest.walk(tmp_path, soon())
    assert looked.repositories == {b"d"}
    assert b"d/.git/x" not in looked.found


def test_s_links_are_never_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "file").symlink_to(tmp_path / "secret")
    found = manifest.walk(root, soon()).found
    assert found.keys() == {b"out", b"file"}
    with pytest.raises(OSError, match="symbolic links"):
        list(manifest.chunks(os.fsencode(root / "file")))


def test_g20_walk_stops_at_its_bounds(tmp_path: Path) -> None:
    deep = tmp_path / "/".join(["d"] * (bounds.MAX_DEPTH + 2))
    deep.mkdir(parents=True)
    with pytest.raises(Refused, match="nested more than"):
        manifest.walk(tmp_path, soon())
    with pytest.raises(Refused, match="within 0 seconds"):
        manifest.walk(tmp_path, Deadline.after(0))


def test_g20_more_entries_than_allowed(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).touch()
    with pytest.raises(Refused, match="more than 19 entries"):
        manifest.walk(tmp_path, soon(), most=19)
    assert len(manifest.walk(tmp_path, soon(), most=20).found) == 20


def test_a_pipe_in_the_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list(manifest.chunks(os.fsencode(tmp_path / "pipe"))) == []
