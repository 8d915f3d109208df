from __future__ import annotations

from bot.live_text import MAX_CHARS, LiveText, find

WORD = "/agent"


def test_lines_are_numbered_as_they_stand_in_the_text() -> None:
    assert find("a\n\n/agent b\n```\n/agent c\n```\n  /agent d", WORD) == LiveText((2, 6), None)


def test_a_word_amid_a_line_is_told_apart_from_one_that_starts_it() -> None:
    assert find("/agent a, then /agent b\nand /agent c", WORD) == LiveText((0,), "/agent c")


def test_a_word_written_with_entities_starts_no_command_line() -> None:
    assert find("&#47;agent b", WORD).lines == ()


def test_a_line_in_inline_code_or_in_a_comment_that_began_earlier_is_not_live() -> None:
    assert find("a `b\n/agent c\nd`\n<!-- e\n/agent f\n--> g\n/agent h", WORD) == LiveText((6,), None)


def test_a_line_of_a_paragraph_in_a_list_is_not_the_comments_own() -> None:
    assert find("- a\n\n  /agent b\n\n/agent c", WORD) == LiveText((4,), "/agent b")


def test_a_text_that_holds_the_marks_is_read_all_the_same() -> None:
    assert find("\ue0000\ue000/agent a\n/agent b", WORD) == LiveText((1,), None)
    every_mark = "".join(map(chr, range(0xE000, 0xF900)))
    assert find(every_mark + "\n/agent b", WORD).lines == (1,)
    many = "".join(map(chr, [*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE), *range(0x100000, 0x10FFFE)]))
    assert find((many[: MAX_CHARS - 10]) + "\n/agent b", WORD).lines == (1,)
