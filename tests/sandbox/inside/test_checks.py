"""Ceilings at and just over their bound."""

from __future__ import annotations

import pytest

from sandbox.inside import checks
from sandbox.inside.bounds import MAX_CHANGED_BYTES, MAX_FILE_BYTES, MAX_PATH_BYTES, MIB, Refused
from sandbox.inside.manifest import FILE, SPECIAL, SYMLINK, Found


def test_g20_number_of_files() -> None:
    checks.count({b"a", b"b"}, 2)
    with pytest.raises(Refused, match="3 files changed, more than the 2 allowed: a, b, c"):
        checks.count({b"a", b"b", b"c"}, 2)


def test_g20_size_of_one_and_of_all() -> None:
    checks.sizes({b"a"}, {b"a": Found(FILE, MAX_FILE_BYTES)})
    with pytest.raises(Refused, match="a is 50 MiB large; at most 50 MiB"):
        checks.sizes({b"a"}, {b"a": Found(FILE, MAX_FILE_BYTES + 1)})
    many = {str(number).encode(): Found(FILE, MAX_CHANGED_BYTES // 4) for number in range(4)}
    checks.sizes(many.keys(), many)
    many[b"one more"] = Found(FILE, 1)
    with pytest.raises(Refused, match="128 MiB together"):
        checks.sizes(many.keys(), many)


def test_g20_length_of_a_path() -> None:
    checks.lengths({b"x" * MAX_PATH_BYTES})
    with pytest.raises(Refused, match="longer than 1,024 bytes"):
        checks.lengths({b"x" * (MAX_PATH_BYTES + 1)})


def test_g16_special_files_by_place_and_by_name() -> None:
    checks.special({b"pipe": Found(SPECIAL, 0), b"file": Found(FILE, 0)}, {b"file"})
    with pytest.raises(Refused, match="file was replaced"):
        checks.special({b"file": Found(SPECIAL, 0)}, {b"file"})
    for name in (b".gitignore", b"a/.gitattributes", b".gitmodules"):
        with pytest.raises(Refused, match="a name that Git reads"):
            checks.special({name: Found(SPECIAL, 0)}, {b"file"})


def test_g20_size_of_ignore_rules() -> None:
    checks.rules({b".gitignore": Found(FILE, MIB), b"a/.gitignore": Found(SYMLINK, 5 * MIB)})
    with pytest.raises(Refused, match="is larger than 1 MiB"):
        checks.rules({b"a/.gitignore": Found(FILE, MIB + 1)})


def test_g11_files_in_a_submodule() -> None:
    checks.submodules(set())
    with pytest.raises(Refused, match="submodule, which a patch cannot carry: sub/x"):
        checks.submodules({b"sub/x"})
