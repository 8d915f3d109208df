"""How paths are shown."""

from __future__ import annotations

import pytest

from sandbox.inside.names import examples, shown, some


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (b"src/app.py", "src/app.py"),
        ("dör/ü b".encode(), "dör/ü b"),
        (b"caf\xe9", "caf\\xe9"),
        (b"a\nb\tc\x1b[2J\x7f", "a\\nb\\tc\\x1b[2J\\x7f"),
        (b"back\\slash", "back\\\\slash"),
        (b"\\xe9", "\\\\xe9"),
        ("\u202egnp.exe".encode(), "\\u202egnp.exe"),
        ("a\u200bb\u2028c\u00a0d".encode(), "a\\u200bb\\u2028c\\xa0d"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
    ],
)
def test_b56_every_path_has_one_printable_form(path: bytes, text: str) -> None:
    assert shown(path) == text


def test_lists_are_short_and_say_how_many_more() -> None:
    paths = [f"{number:04}".encode() for number in range(1234)]
    assert examples(paths) == "0000, 0001, 0002, 0003, 0004 and 1,229 more"
    assert examples([b"a"]) == "a"
    assert len(some(paths)) == 20
    assert len(some([b"x" * 5000])[0]) == 200
