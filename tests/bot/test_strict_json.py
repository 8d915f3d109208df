from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.strict_json import MAX_DEPTH, BadJson, loads

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_another_writer_wrote_is_read(value: Any) -> None:
    assert loads(json.dumps(value).encode()) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"a": 1, "a": 1}', "twice"),
        (b'{"b": {"a": 1, "\\u0061": 2}}', "twice"),
        (b'{"a": NaN}', "NaN"),
        (b"[-Infinity]", "Infinity"),
        (b"[1e999]", "too large"),
        (b"[" + b"9" * 26 + b"]", "too long"),
        (b"[" + b"9" * 1_000_000 + b"]", "too long"),
        (b"[1." + b"9" * 5_000 + b"]", "too long"),
        (b'"\xff"', "UTF-8"),
        (b'"\xed\xa0\x80"', "UTF-8"),
        ("[1]".encode("utf-16"), "UTF-8"),
        (b"\xef\xbb\xbf[1]", "not JSON"),
        (b"", "not JSON"),
        (b"{'a': 1}", "not JSON"),
        (b'{"a": 1,}', "not JSON"),
        (b"[1] [2]", "not JSON"),
        (b'"a\nb"', "not JSON"),
        (b"\0", "not JSON"),
    ],
)
def test_what_two_readers_could_read_differently_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(BadJson, match=words):
        loads(body)


def test_nesting_is_capped() -> None:
    deep = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert loads(deep)
    assert loads(b'{"a": "' + b"[{" * 1_000 + b'\\""}')
    for depth in (MAX_DEPTH + 1, 1_000, 100_000):
        with pytest.raises(BadJson, match="deeper"):
            loads(b"[" * depth + b"]" * depth)
        with pytest.raises(BadJson, match="deeper"):
            loads(b'{"a":' * depth + b"1" + b"}" * depth)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(body: bytes) -> None:
    with contextlib.suppress(BadJson):
        loads(body)


@pytest.mark.parametrize("body", [b'"' + b'\\"' * 500_000, b"[" * 1_000_000, b'[""' + b',""' * 500_000 + b"]"])
def test_a_large_body_takes_no_more_than_its_size(body: bytes) -> None:
    started = time.process_time()
    with contextlib.suppress(BadJson):
        loads(body)
    assert time.process_time() - started < 5
