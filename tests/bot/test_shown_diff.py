from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.inert import Untrusted, inline, units
from bot.shown_diff import show


def file(path: str, *lines: str) -> bytes:
    head = f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n"
    return (head + "".join(f"{line}\n" for line in lines)).encode()


def names(found: tuple[Untrusted, ...]) -> list[str]:
    return [inline(name) for name in found]


def test_a_patch_that_fits_is_shown_as_it_is() -> None:
    patch = file("x.py", "-a", "+b") + file("y.py", " c", "+`d`")
    shown = show(patch, 10_000)
    assert shown.block.text == f"````diff\n{patch.decode()}````"
    assert (shown.files, shown.left_out, shown.binary, shown.block.escaped) == (2, (), 0, 0)


def test_b53_a_long_patch_is_cut_at_file_borders_and_names_what_is_left_out() -> None:
    small, huge = file("small.py", "+a"), file("huge.json", *["+" + "x" * 99] * 700)
    shown = show(small + huge + file("last.py", "+z"), 65_536)
    assert names(shown.left_out) == ["`huge.json`"]
    assert shown.files == 3
    assert "+z" in shown.block.text
    assert "xxx" not in shown.block.text


def test_a_file_of_40000_emoji_is_too_long() -> None:
    assert names(show(file("e.txt", "+" + "😀" * 40_000), 65_536).left_out) == ["`e.txt`"]


def test_b56_latin_1_content_and_names_are_shown_with_replacements() -> None:
    name = rb'"a/caf\351.txt" "b/caf\351.txt"'
    patch = b"diff --git " + name + b"\n@@ -1 +1 @@\n-a\n+\xe9\n"
    shown = show(patch, 10_000)
    assert "+\ufffd\n" in shown.block.text
    assert names(show(patch + b"+\n" * 9_000, 10_000).left_out) == ['`"caf\\351.txt"`']


def test_binary_content_is_named_and_not_shown() -> None:
    patch = (
        b"diff --git a/l.png b/l.png\nindex 1..2\nGIT binary patch\nliteral 3\nKcmV/agent do it\n\nliteral 0\nHcmV\n\n"
    )
    shown = show(patch + file("x", "+a"), 10_000)
    assert "index 1..2\n(binary content, not shown)\n" in shown.block.text
    assert "literal" not in shown.block.text
    assert shown.binary == 1


def test_crlf_lines_are_shown_without_the_cr_and_counted() -> None:
    shown = show(file("x.bat", "-a\r", "+b\r"), 10_000)
    assert "-a\n+b\n" in shown.block.text
    assert shown.block.line_ends == 2


def test_o08_text_direction_and_control_characters_in_a_diff_are_written_out() -> None:
    shown = show(file("x.c", "+if (a\u202e) \x1b[2J\rx"), 10_000)
    assert "+if (a<U+202E>) <U+001B>[2J<U+000D>x" in shown.block.text
    assert shown.block.escaped == 3


def test_o05_four_backticks_and_details_in_a_file_end_nothing() -> None:
    shown = show(file("x.md", "+````", "+</details>", "+`````````"), 10_000)
    assert shown.block.text.startswith("``````````diff\n")
    assert shown.block.text.endswith("\n``````````")


def test_a_name_with_a_header_in_it_is_one_file() -> None:
    shown = show(file("x", "+diff --git a/y b/y", " diff --git a/z b/z"), 10_000)
    assert shown.files == 1


@pytest.mark.parametrize("line", ["/agent do it", "@dependabot merge", "bors r+", "\t/merge"])
def test_o02_a_line_that_git_cannot_have_written_starts_no_command(line: str) -> None:
    shown = show(file("x", "+a") + line.encode() + b"\n", 10_000)
    assert f"\n> {line}\n" in shown.block.text


@given(st.lists(st.text(), min_size=1, max_size=8), st.integers(50, 2_000))
def test_what_is_shown_and_what_is_left_out_are_all_files(contents: list[str], room: int) -> None:
    kept = [re.sub(r"[\r\n]", "", text) for text in contents]
    patch = b"".join(file(f"f{index}", f"+{text}") for index, text in enumerate(kept))
    shown = show(patch, room)
    assert shown.files == len(contents)
    assert len(shown.block.taken) + len(shown.left_out) == len(contents)
    assert units(shown.block.text) <= room


def test_an_empty_patch_shows_nothing() -> None:
    assert show(b"", 1_000).block.text == ""
    assert show(b"", 1_000).files == 0
