"""Copies of sparse files: the same bytes, no more room, and a digest that tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.inside.sparse import BLOCK_BYTES, copy, taken

SIZE = 1 << 26


def made(path: Path, pieces: dict[int, bytes]) -> Path:
    with path.open("wb") as out:
        out.truncate(SIZE)
        for offset, piece in pieces.items():
            out.seek(offset)
            out.write(piece)
    return path


@pytest.mark.parametrize(
    "pieces",
    [
        {},
        {0: b"a", SIZE - 1: b"z"},
        {BLOCK_BYTES - 1: b"ab", 5 * BLOCK_BYTES + 17: b"c" * 300_000},
        {SIZE - 5: b"12345"},
    ],
)
def test_the_same_bytes_in_little_room(tmp_path: Path, pieces: dict[int, bytes]) -> None:
    source = made(tmp_path / "a", pieces)
    digest = copy(source, tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == source.read_bytes()
    assert taken(tmp_path / "b") <= taken(source) + 4 * BLOCK_BYTES
    assert copy(tmp_path / "b", tmp_path / "c") == digest


def test_zeros_that_were_written_take_no_room_and_make_no_difference(tmp_path: Path) -> None:
    written = made(tmp_path / "a", {0: bytes(1 << 20), 1 << 21: b"x"})
    digest = copy(written, tmp_path / "b")
    assert taken(tmp_path / "b") <= BLOCK_BYTES
    assert digest == copy(made(tmp_path / "c", {1 << 21: b"x"}), tmp_path / "d")


@pytest.mark.parametrize("other", [{1 << 20: b"y"}, {(1 << 20) + 1: b"x"}, {}, {1 << 20: b"x", 1 << 22: b"x"}])
def test_another_byte_is_another_digest(tmp_path: Path, other: dict[int, bytes]) -> None:
    one = copy(made(tmp_path / "a", {1 << 20: b"x"}), tmp_path / "b")
    assert copy(made(tmp_path / "c", other), tmp_path / "d") != one


def test_another_size_is_another_digest(tmp_path: Path) -> None:
    for name, size in (("a", 100), ("b", 101)):
        with (tmp_path / name).open("wb") as out:
            out.truncate(size)
    assert copy(tmp_path / "a", tmp_path / "c") != copy(tmp_path / "b", tmp_path / "d")


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    made(tmp_path / "a", {})
    (tmp_path / "b").write_text("mine")
    with pytest.raises(FileExistsError):
        copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_text() == "mine"
