from __future__ import annotations

import pytest

from sandbox.agents.shaped import Count, Money, Shaped, Text, clean, load


class Event(Shaped):
    text: Text = ""
    count: Count = None
    money: Money = None


def test_clean_keeps_every_character_that_can_be_stored() -> None:
    text = "".join(map(chr, [*range(1, 0xD800), *range(0xE000, 0x110000)]))
    assert clean(text) == text


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b"null",
        b"[" * 100_000,
        b"\xff",
        b'{"n":' + b"9" * 5000 + b"}",
        b'{"a":' * 50_000,
    ],
    ids=lambda line: line[:20].decode("latin-1"),
)
def test_what_is_no_object_is_none(line: bytes) -> None:
    assert load(line) is None


def test_an_object_may_have_space_around_it_and_bytes_that_are_no_utf8() -> None:
    assert load(b'  {"a": "\xff"}\r') == {"a": "\ufffd"}


@pytest.mark.parametrize("figure", [-1, 2**60, "7", True, None, [], 1.5])
def test_a_malformed_figure_is_unknown(figure: object) -> None:
    assert Event.model_validate({"text": "a\0b", "count": figure}) == Event(text="ab")
