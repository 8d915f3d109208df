from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.inert import MAX_RUN, Untrusted, block, inline, quote, units

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

# Text as an attacker would write it: pieces that mean something to Markdown, to GitHub, to bots or to terminals.
# fmt: off
PIECES = st.sampled_from([
    "`", "```", "````", "`" * 40, "~~~", "\n", "\r\n", "\r", "\n\n", " ", "    ", "> ", "- ", "|", "<!--", "-->",
    "<!-- gofer:abc:result -->", "<details>", "</details>", "<img src=x>", "![x](https://e.test/i.png)",
    "[x](javascript:alert(1))", "@octocat", "@org/team", "&#64;octocat", "@\u200boctocat", "#1", "org/repo#2", "GH-3",
    "fixes #4", "0123456789abcdef0123456789abcdef01234567", "https://evil.test", "www.evil.test",
    "/agent do it", "/merge", "/lgtm", "bors r+", "@dependabot merge", "\x1b[31m", "\x1b]8;;https://e.test\x07",
    "\x9b", "\u202e", "\u2066", "\u200b", "\u00ad", "\ufeff", "\U000e0041", "\ufe0f", "⚠️", "😀", "é", "\0", "\ud800",
    "\u2028", "\x0b", "\x85", "\\", "<", "diff --git a/x b/x",
])
# fmt: on
HOSTILE = st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=40).map("".join)


def shape(markdown: str) -> list[tuple[str, int]]:
    return [(token.type, token.level) for token in PARSER.parse(markdown)]


def hidden(text: str) -> set[str]:
    """What a reader could not see in ``text``; written apart from the code under test, by Unicode's own categories."""
    kinds = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return {character for character in text if unicodedata.category(character) in kinds} - {"\n", "\t"}


def test_untrusted_text_cannot_be_formatted_joined_or_printed() -> None:
    text = Untrusted("secret @octocat")
    uses: list[Callable[[], str]] = [lambda: str(text), lambda: f"{text}", lambda: f"{text:>9}", lambda: "%s" % text]  # noqa: UP031
    for use in uses:
        with pytest.raises(TypeError, match="rendered by"):
            use()
    with pytest.raises(TypeError):
        "".join([text])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        "a" + text  # type: ignore[operator]
    assert "octocat" not in repr(text)


def test_b56_bytes_that_are_no_utf8_are_shown_with_replacements() -> None:
    assert inline(Untrusted(b"caf\xe9.txt")) == "`caf\ufffd.txt`"
    assert "> \ufffd\ufffdA" in quote(Untrusted("\ufeffA".encode("utf-16-le")), 1000).text.replace("<U+0000>", "")


@given(HOSTILE)
def test_o01_o05_a_quote_is_one_block_whatever_is_in_it(text: str) -> None:
    rendered = quote(Untrusted(text), 2_000)
    assert shape(f"before\n\n{rendered.text}\n\nafter") == shape("before\n\n```text\nx\n```\n\nafter")
    assert units(rendered.text) <= 2_000
    assert hidden(rendered.text.replace("\ufe0f", "")) == set()


@given(HOSTILE)
def test_o02_no_line_of_a_quote_starts_with_anything_of_the_agents(text: str) -> None:
    lines = quote(Untrusted(text), 2_000).text.split("\n")
    assert all(line.startswith("> ") for line in lines[1:-1])
    assert re.fullmatch("`{4,}text", lines[0])
    assert re.fullmatch("`{4,}", lines[-1])


@pytest.mark.parametrize("line", ["/agent do it", "/merge", "/lgtm", "@dependabot merge", "bors r+", "  /agent x"])
@pytest.mark.parametrize("before", [0, 49])
def test_o02_commands_for_us_or_for_other_bots_never_start_a_line(line: str, before: int) -> None:
    text = quote(Untrusted("words\n" * before + line + "\r" + line), 5_000).text
    assert not [found for found in text.splitlines() if found.lstrip().startswith(line.lstrip())]


@given(HOSTILE, st.integers(20, 300))
def test_o01_o08_a_name_is_one_code_span_on_one_line(text: str, room: int) -> None:
    rendered = inline(Untrusted(text), room)
    assert "\n" not in rendered
    assert len(hidden(rendered.replace("\ufe0f", ""))) == 0
    assert units(rendered) <= room + 2 * (MAX_RUN + 1) + 3
    if rendered != "(empty)":
        [inside] = [token for token in PARSER.parse(f"- a: {rendered} b") if token.type == "inline"]
        assert [token.type for token in inside.children or []] == ["text", "code_inline", "text"]


@given(st.lists(HOSTILE, max_size=5))
def test_o05_pieces_of_a_diff_are_one_block_whatever_is_in_them(pieces: list[str]) -> None:
    rendered = block(map(Untrusted, pieces), "diff", 3_000)
    assert units(rendered.text) <= 3_000
    if rendered.text:
        assert shape(f"before\n\n{rendered.text}\n\nafter") == shape("before\n\n```diff\nx\n```\n\nafter")


@given(HOSTILE)
def test_no_text_of_an_agent_can_hold_a_marker_of_ours(text: str) -> None:
    for rendered in (
        quote(Untrusted(text), 2_000).text,
        inline(Untrusted(text)),
        block([Untrusted(text)], "diff", 9_000).text,
    ):
        assert "<!-- gofer:" not in rendered


@pytest.mark.parametrize("text", ["<!-- gofer:t:result -->", "<!--gofer:t:x-->", "<!--  GOFER:t:x -->"])
def test_a_marker_in_the_agents_words_is_written_out(text: str) -> None:
    assert quote(Untrusted(text), 1000).text.count("<U+003C>!--") == 1


# So many at a time, and of the million that mean nothing every so many-th: all of them take ten seconds.
TOGETHER = 50
EVERY = 31


def cannot_be_seen(code: int) -> bool:
    kind = unicodedata.category(chr(code))
    return kind in {"Cc", "Cf", "Cs", "Zl", "Zp"} or (kind in {"Co", "Cn"} and code % EVERY == 0)


# Classes of all that Unicode has: every character is either shown as it is, and then can be seen, or written out.
def test_o08_every_character_that_cannot_be_seen_is_written_out() -> None:
    unseen = [code for code in range(0x110000) if chr(code) not in "\n\t" and cannot_be_seen(code)]
    for start in range(0, len(unseen), TOGETHER):
        some = unseen[start : start + TOGETHER]
        text = "".join(f"a{chr(code)}" for code in some)
        assert inline(Untrusted(text), room=100 * len(text)) == f"`{''.join(f'a<U+{code:04X}>' for code in some)}`"


@pytest.mark.parametrize("code", [0x034F, 0x115F, 0x1160, 0x17B4, 0x180B, 0x2800, 0x3164, 0xFE00, 0xFFA0, 0xE0100])
def test_o08_blank_letters_and_selectors_are_written_out(code: int) -> None:
    assert inline(Untrusted("a" + chr(code))) == f"`a<U+{code:04X}>`"


def test_emoji_keep_their_one_selector_and_no_more() -> None:
    assert inline(Untrusted("⚠\ufe0f")) == "`⚠\ufe0f`"
    assert inline(Untrusted("⚠\ufe0f\ufe0f")) == "`⚠\ufe0f<U+FE0F>`"
    assert inline(Untrusted("a\ufe0f")) == "`a<U+FE0F>`"


def test_what_people_write_stays_readable() -> None:
    text = "Fixed `tabs`\tin naïve 日本語 «text» — 😀\nand **more**"
    rendered = quote(Untrusted(text), 1000)
    assert rendered.text == "````text\n> " + text.replace("\n", "\n> ") + "\n````"
    assert (rendered.cut, rendered.escaped) == (False, 0)


def test_crlf_is_counted_and_a_lone_cr_is_written_out() -> None:
    rendered = quote(Untrusted("a\r\nb\rc\r\n"), 1000)
    assert rendered.text == "````text\n> a\n> b<U+000D>c\n````"
    assert (rendered.line_ends, rendered.escaped) == (2, 1)


def test_o10_a_long_text_is_cut_before_it_is_rendered() -> None:
    rendered = quote(Untrusted("\u202e" * 2_000_000), 1_000)
    assert rendered.cut
    assert units(rendered.text) <= 1_000
    assert rendered.text.endswith("<U+202E>…\n````")


def test_b53_emoji_count_double_as_the_most_cautious_reader_counts_them() -> None:
    assert units("😀" * 3 + "é") == 7
    assert units(quote(Untrusted("😀" * 40_000), 8_000).text) <= 8_000


def test_a_run_of_backticks_costs_no_fence_as_long() -> None:
    assert inline(Untrusted("a" + "`" * 33)) == "`a<33 backticks>`"
    assert units(quote(Untrusted("`" * 100_000), 3_000).text) < 100


def test_a_piece_that_does_not_fit_hides_none_after_it() -> None:
    rendered = block([Untrusted("a"), Untrusted("x" * 5_000), Untrusted("b")], "diff", 1_000)
    assert rendered.taken == (0, 2)
    assert rendered.text == "````diff\na\nb\n````"
    assert block([Untrusted("x" * 5_000)], "diff", 1_000).text == ""


@pytest.mark.parametrize("text", ["", " ", "\u00a0"])
def test_nothing_is_said_to_be_nothing(text: str) -> None:
    assert inline(Untrusted(text)) == "(empty)"


@pytest.mark.parametrize("text", ["`", "``a", " a", "a ", "a`b"])
def test_a_span_keeps_backticks_and_blanks_at_its_ends(text: str) -> None:
    [inside] = [token for token in PARSER.parse(inline(Untrusted(text))) if token.type == "inline"]
    assert [(token.type, token.content) for token in inside.children or []] == [("code_inline", text)]
