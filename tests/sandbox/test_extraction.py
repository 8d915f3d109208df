"""The extractor's answer is data from an adversary's tree: cut, forged or too long, it is an error and no diff."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from sandbox.extraction import _full, taken
from sandbox.helpers import HelperFailed, Ran
from sandbox.job import Limits

LIMITS = Limits(patch_bytes=10, content_bytes=10)
FILE = {"path": "a", "raw_path": "YQ==", "status": "added", "new_mode": "100644", "content_length": 2}
GONE = {"path": "b", "raw_path": "Yg==", "status": "deleted", "old_mode": "100644", "content_length": None}
HEADER = {
    "base_commit": "a" * 40,
    "refusal": "",
    "files": [FILE],
    "ignored_count": 0,
    "ignored_examples": [],
    "notes": ["n"],
    "patch_length": 4,
}
ROOM = b"9000 100000 500\n"


def answer(body: bytes = b"p\xff\x00\nc\n", exit_code: int = 0, **header: object) -> Ran:
    return Ran(exit_code, json.dumps(HEADER | header).encode() + b"\n" + body, ROOM)


def test_the_patch_is_taken_byte_for_byte() -> None:
    seen = taken(answer(), LIMITS)
    assert seen.changes is not None
    assert seen.changes.patch == b"p\xff\x00\n"
    assert seen.changes.files[0].path == "a"
    assert (seen.changes.files[0].raw_path, seen.changes.files[0].content) == (b"a", b"c\n")
    assert not seen.disk_full


def test_a_refusal_has_no_patch() -> None:
    seen = taken(answer(b"", refusal="too large", patch_length=0, files=[]), LIMITS)
    assert seen.changes is not None
    assert (seen.changes.patch, seen.changes.refusal) == (None, "too large")


def test_no_change_is_an_empty_patch_not_none() -> None:
    seen = taken(answer(b"", patch_length=0, files=[]), LIMITS)
    assert seen.changes is not None
    assert seen.changes.patch == b""


def test_each_file_gets_its_own_bytes() -> None:
    files = [{**FILE, "content_length": 0}, GONE, {**FILE, "raw_path": "/w==", "content_length": 3}, FILE]
    seen = taken(answer(b"patchonetw", patch_length=5, files=files), LIMITS)
    assert seen.changes is not None
    assert [file.content for file in seen.changes.files] == [b"", None, b"one", b"tw"]
    assert [file.raw_path for file in seen.changes.files] == [b"a", b"b", b"\xff", b"a"]
    assert seen.changes.patch == b"patch"


@pytest.mark.parametrize(
    ("name", "ran"),
    [
        ("cut short", answer(b"p")),
        ("a file cut short", answer(b"patcc")),
        ("too long", answer(b"p" * 7)),
        ("beyond the limit", answer(b"p" * 13, patch_length=11)),
        ("a file beyond the limit", answer(b"p" * 15, files=[{**FILE, "content_length": 11}])),
        ("files beyond the limit", answer(b"p" * 16, files=[{**FILE, "content_length": 6}] * 2)),
        ("a negative length", answer(b"pat", files=[{**FILE, "content_length": -1}])),
        ("a length that is none", answer(b"patcc", files=[{**FILE, "content_length": True}])),
        ("a length that is text", answer(files=[{**FILE, "content_length": "2"}])),
        ("a deleted file with something in it", answer(files=[{**GONE, "content_length": 2}])),
        ("a file without a length", answer(b"patc", files=[{"path": "a", "raw_path": "YQ==", "status": "added"}])),
        ("a path that is no base64", answer(files=[{**FILE, "raw_path": "Y Q=="}])),
        ("no path", answer(files=[{**FILE, "raw_path": ""}])),
        ("a refusal with files", answer(b"cc", patch_length=0, refusal="too large")),
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


def test_no_more_is_held_than_the_answer_and_what_is_taken_from_it() -> None:
    size = 1 << 20
    limits = Limits(patch_bytes=size, content_bytes=8 * size)
    files = [{**FILE, "content_length": size}] * 8
    ran = answer(b"\xff" * 9 * size, patch_length=size, files=files)
    tracemalloc.start()
    seen = taken(ran, limits)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen.changes is not None
    assert peak < 9.5 * size  # the answer itself was there before
