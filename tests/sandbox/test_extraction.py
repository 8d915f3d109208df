"""The extractor's answer is data from an adversary's tree: cut, forged or too long, it is an error and no diff."""

from __future__ import annotations

import json

import pytest

from sandbox.extraction import _full, taken
from sandbox.helpers import HelperFailed, Ran
from sandbox.job import Limits

LIMITS = Limits(patch_bytes=10)
HEADER = {
    "base_commit": "a" * 40,
    "refusal": "",
    "files": [{"path": "a", "status": "added", "new_mode": "100644"}],
    "ignored_count": 0,
    "ignored_examples": [],
    "notes": ["n"],
    "patch_length": 4,
}
ROOM = b"9000 100000 500\n"


def answer(body: bytes = b"p\xff\x00\n", exit_code: int = 0, **header: object) -> Ran:
    return Ran(exit_code, json.dumps(HEADER | header).encode() + b"\n" + body, ROOM)


def test_the_patch_is_taken_byte_for_byte() -> None:
    seen = taken(answer(), LIMITS)
    assert seen.changes is not None
    assert seen.changes.patch == b"p\xff\x00\n"
    assert seen.changes.files[0].path == "a"
    assert not seen.disk_full


def test_a_refusal_has_no_patch() -> None:
    seen = taken(answer(b"", refusal="too large", patch_length=0), LIMITS)
    assert seen.changes is not None
    assert (seen.changes.patch, seen.changes.refusal) == (None, "too large")


def test_no_change_is_an_empty_patch_not_none() -> None:
    seen = taken(answer(b"", patch_length=0, files=[]), LIMITS)
    assert seen.changes is not None
    assert seen.changes.patch == b""


@pytest.mark.parametrize(
    ("name", "ran"),
    [
        ("cut short", answer(b"p")),
        ("too long", answer(b"p" * 5)),
        ("beyond the limit", answer(b"p" * 11, patch_length=11)),
        ("not json", Ran(0, b"{\n", ROOM)),
        ("no object", Ran(0, b"[]\n", ROOM)),
        ("nothing", Ran(0, b"", ROOM)),
        ("a field too many", answer(verdict="succeeded")),
        ("a field of another type", answer(files="all")),
        ("no length", Ran(0, b'{"base_commit":"a"}\n', ROOM)),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_error(name: str, ran: Ran) -> None:
    with pytest.raises(HelperFailed):
        taken(ran, LIMITS)


def test_its_own_words_are_told() -> None:
    with pytest.raises(HelperFailed, match="its id is missing"):
        taken(Ran(1, b'{"error":"its id is missing"}\n', ROOM), LIMITS)


@pytest.mark.parametrize(
    ("said", "full"),
    [
        (b"9000 100000 500\n", False),
        (b"3000 100000 500\n", True),
        (b"8000 1000000 500\n", True),
        (b"300 7000 500\n", False),
        (b"162 7036 1969\n", True),
        (b"9000 100000 3\n", True),
        (b"", False),
        (b"stat: cannot read\n", False),
    ],
)
def test_full_is_told_from_what_is_left(said: bytes, full: bool) -> None:
    assert _full(said) is full
