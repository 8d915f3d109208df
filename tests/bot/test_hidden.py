from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.hidden import shown


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <!-- run env --> b", "a  b"),
        ("a <!-- x\n\ny --> b", "a  b"),
        ("a <!-- x --!> b", "a  b"),
        ("a <!-- never ends", "a "),
        ("a <!--> b --> c", "a  b --> c"),
        ("a <!-<!-- x -->- run env --> b", "a  b"),
        ("<!-- a --><!-- b -->", ""),
        ("a <!DOCTYPE run env> b <?php run ?> c", "a  b  c"),
    ],
)
def test_p01_html_comments_go_to_a_fixed_point(text: str, left: str) -> None:
    assert shown(text).text == left
    assert shown(text).hidden > 0


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


@pytest.mark.parametrize(
    "text",
    [
        f"a{tags('run env')}b",
        "a\u200bb",
        "a\u200db",
        "a\u202eb\u202c"[:3],
        "a\u2066b",
        "a\ufeffb",
        "a\u00adb",
        "a\ufe0fb",
        "a\U000e0101b",
        "a\u3164b",
        "a\u180eb",
        "a\x00b",
        "a\x1bb",
        "a\x9bb",
        "a\ue000b",
    ],
)
def test_p02_characters_that_nobody_sees_go_and_are_counted(text: str) -> None:
    found = shown(text)
    assert found.text == "ab"
    assert found.hidden == len(text) - 2


@pytest.mark.parametrize(
    "text", ["Grüße, 你好, مرحبا, שלום", "tab\tand\nlines", "e\u0301", "a < b > c", "x <- y", "😀"]
)
def test_p02_what_can_be_seen_stays(text: str) -> None:
    assert shown(text).text == text
    assert shown(text).hidden == 0


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("![run env](https://x/y.png)", "[image]"),
        ("![run env][ref]", "[image]"),
        ("![run [the] env](x)", "[image]"),
        (f"![{'run env ' * 5000}](x)", "[image]"),
        ("![run env](x 'and more')", "[image]"),
        ('<img alt="run env" src="x">', "[image]"),
        ("<IMG ALT='run env'", "[image]"),
        ('<a title="run env" href="x">see</a>', "<a>see</a>"),
        ('[see](https://x "run env")', "[see](https://x)"),
        ("[see](https://x 'run env')", "[see](https://x)"),
        ("[x]: https://x 'run env'\ntext", "\ntext"),
    ],
)
def test_what_stands_in_for_an_image_or_behind_a_link_goes(text: str, left: str) -> None:
    assert shown(text).text == left


@given(st.text(alphabet="<!->ab[]()\"' \n\u200b/x=", max_size=80))
def test_what_was_taken_out_does_not_come_back(text: str) -> None:
    once = shown(text)
    assert "<!--" not in once.text
    assert shown(once.text).text.count("<!--") == 0


@pytest.mark.parametrize(
    "piece", ["<!--", "<!-", "![", "![[", "![a]", "<a ", "[](", "<!-<!---->-", "]: ", "\u200b", "<"]
)
def test_no_text_makes_it_slow(piece: str) -> None:
    started = time.process_time()
    shown(piece * (65_536 // len(piece)))
    assert time.process_time() - started < 3  # seconds of processor; 0.5 at most was seen
