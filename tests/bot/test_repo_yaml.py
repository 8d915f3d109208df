from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.repo_yaml import MAX_CHARS, YamlMistake, load


def test_plain_things_are_what_they_look_like() -> None:
    text = (
        "a: true\nb: 12\nc: 1.5\nd: text\ne: [x, 'y']\nf:\n  g: null\nh: no\ni: 2026-01-01\nj: 0o17\nk: 1:30\nl: '12'\n"
    )
    assert load(text) == {
        "a": True, "b": 12, "c": 1.5, "d": "text", "e": ["x", "y"], "f": {"g": None}, "h": "no", "i": "2026-01-01",
        "j": "0o17", "k": "1:30", "l": "12",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "# only words\n", "---\n", "null"])
def test_an_empty_file_is_nothing(text: str) -> None:
    assert load(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: 'a' is there twice"),
        ("a: &x 1\nb: *x\n", "line 1: there are no anchors and aliases"),
        ("a: *x\n", "line 1: there are no anchors and aliases"),
        ("1: a\n", "line 1: a key must be a text"),
        ("[a]: b\n", "line 1: a key must be a text"),
        ("a: !!python/object/apply:os.system [id]\n", "line 1: could not determine a constructor"),
        ("a: [1\n", "line 2: expected ',' or ']'"),
        ("a: 1\n--- \nb: 2\n", "line 2: but found another document"),
        ("[" * 30, "line 1: it is nested too deep"),
        ("[" * 60_000, "line 1: it is nested too deep"),
        ("x" * (MAX_CHARS + 1), "it is longer than 65,536 characters"),
        ("a: \x00", "it is no YAML that can be read (ReaderError)"),
    ],
)
def test_what_could_mean_two_things_is_a_mistake_with_its_line(text: str, words: str) -> None:
    with pytest.raises(YamlMistake) as caught:
        load(text)
    assert str(caught.value).startswith(words)


@given(st.text(alphabet="ab:-[]{}&*!|>#'\" \n\t,?%@`0.", max_size=60))
def test_no_text_raises_anything_else(text: str) -> None:
    with contextlib.suppress(YamlMistake):
        load(text)
