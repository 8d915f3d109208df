"""State files: whole or not there."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
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


def test_many_may_write_one_file_at_once(tmp_path: Path) -> None:
    """As many preparations do with the record of one mirror; each used to take the other's draft away."""
    gate = threading.Barrier(8)

    def write(number: int) -> None:
        gate.wait()
        for _ in range(20):
            files.write(tmp_path / "used.json", Used(at=number))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert files.read(tmp_path / "used.json", Used) in [Used(at=number) for number in range(8)]
    assert [path.name for path in tmp_path.iterdir()] == ["used.json"]


def test_a_file_that_was_not_finished_does_not_count(tmp_path: Path) -> None:
    (tmp_path / ".used.json.new").write_text('{"at"')
    assert files.read(tmp_path / "used.json", Used) is None
