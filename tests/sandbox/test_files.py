"""State files: whole or not there."""

from __future__ import annotations

from pathlib import Path

from sandbox import files
from sandbox.state import Used


def test_a_file_comes_back_and_only_we_may_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    files.make_folder(folder)
    files.make_folder(folder)
    files.write(folder / "used.json", Used(at=1.5))
    assert files.read(folder / "used.json", Used) == Used(at=1.5)
    assert (folder.stat().st_mode & 0o777, (folder / "used.json").stat().st_mode & 0o777) == (0o700, 0o600)
    assert [path.name for path in folder.iterdir()] == ["used.json"]


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert files.read(tmp_path / "x" / "used.json", Used) is None
    files.remove_folder(tmp_path / "x")


def test_a_file_that_was_not_finished_does_not_count(tmp_path: Path) -> None:
    (tmp_path / ".used.json.new").write_text('{"at"')
    assert files.read(tmp_path / "used.json", Used) is None
