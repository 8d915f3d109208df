"""Where in a Markdown text a word stands as somebody's own live words. Pure.

A command counts only where a reader sees it as said: not in code (fenced, indented or inline), not in a quote, not in
HTML or an HTML comment. The Markdown parser itself is asked: each line that starts with the word gets a mark in front
of the word, and where the mark turns up among the parsed tokens tells what the line is. Between the tags of an HTML
element that quotes, shows or folds away (``bot.live_html``) nothing is live.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.live_html import Held

MAX_CHARS = 132_000
"""Longest text that ``find`` takes: twice GitHub's limit for a comment, and fewer than there are marks."""

# CommonMark with GitHub's tables. Links, images and emphasis change nothing about what is live, and parsing them takes
# seconds on a comment made for it (65,536 characters of "![[](": 2.7 s; without them nothing tried was over 0.9 s).
# Characters that a backslash escapes are not joined to the text around them: `\\/agent` is somebody naming the word.
_PARSER = MarkdownIt("commonmark").enable("table").disable(["link", "image", "emphasis", "text_join"])

LEADING = " \t\u00a0\u1680\u2000-\u200b\u200e\u200f\u202f\u205f\u2060\u3000\ufeff"
"""For a character class: what may stand before the word on its line. Blanks and what takes no room: they come along
when a text is pasted, and nobody sees them."""

# What makes the word a part of a longer one: `/agents`, `/agent-smith`, `/agent/x`, `/agent.py`, `/agent's`.
_LONGER = r"[\w/@\\]|[.'’\-]\w"

# What may stand before the word amid a line for it to speak to us; `src/agent` and `https://x/agent` do not.
_OPENERS = r"(?<![^\s(\[{:,;>\"'“‘«*_~])"

_LINE_START = "start"
_LINE_BREAKS = frozenset({"softbreak", "hardbreak", _LINE_START})

# Characters that mean nothing in public; one that the text does not hold becomes the mark.
_PRIVATE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))


@dataclass(frozen=True)
class LiveText:
    """What ``find`` found."""

    lines: tuple[int, ...]
    """Numbers, from 0, of the lines that start with the word in a plain paragraph of the comment itself."""
    astray: str | None
    """The first place where the word is live and starts no such line, to the end of its line."""


class _Inline(NamedTuple):
    tokens: list[Token]
    own: bool
    """A plain paragraph of the comment itself."""
    quoted: bool


@lru_cache(maxsize=8)
def _patterns(word: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    at_start = re.compile(rf"^([ \t]*)([{LEADING}]*{re.escape(word)})(?!{_LONGER})", re.IGNORECASE)
    amid = re.compile(rf"{_OPENERS}{re.escape(word)}(?!{_LONGER}).*", re.IGNORECASE)
    return at_start, amid


def find(text: str, word: str) -> LiveText:
    """Look for ``word`` in ``text`` of at most ``MAX_CHARS`` characters, whose line ends are ``\\n`` alone."""
    if word.lower() not in text.lower():
        return LiveText((), None)
    mark = _unused(text)
    at_start, amid = _patterns(word)
    marked = (at_start.sub(rf"\g<1>{mark}{number}{mark}\g<2>", line) for number, line in enumerate(text.split("\n")))
    numbered = re.compile(rf"{mark}(\d+){mark}(.*)")
    lines: list[int] = []
    astray: list[str] = []
    held = Held()
    for inline in _inlines(_PARSER.parse("\n".join(marked)), held):
        for content, fresh in _texts(inline.tokens, held):
            if fresh and (hit := numbered.match(content)):
                # In a quote only a line that its writer began without `>` can carry a mark: it was drawn in, for want
                # of a blank line above it.
                lines.append(int(hit[1])) if inline.own else astray.append(hit[2])
            elif not inline.quoted and (said := amid.search(content)):
                astray.append(said[0])
    return LiveText(tuple(lines), astray[0] if astray else None)


def _inlines(tokens: list[Token], held: Held) -> Iterator[_Inline]:
    """The runs of inline tokens. A paragraph that a line of dashes below has made a heading is one to its writer."""
    quotes = 0
    for opener, token in pairwise([Token("start", "", 0), *tokens]):
        if token.type == "html_block":
            held.see(token.content)
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(opener.type, 0)
        if token.type == "inline":
            plain = opener.type == "paragraph_open" or opener.markup in {"=", "-"}
            yield _Inline(token.children or [], own=plain and opener.level == 0, quoted=quotes > 0)


def _texts(tokens: list[Token], held: Held) -> Iterator[tuple[str, bool]]:
    """The text among inline tokens that nothing holds, each piece with whether it starts a line."""
    before = _LINE_START
    for token in tokens:
        if token.type == "html_inline":
            held.see(token.content)
        if token.type == "text" and not held:
            # What follows an escaped character goes on where that left off: it starts nothing.
            yield ("\\" if before == "text_special" else "") + token.content, before in _LINE_BREAKS
        before = token.type


def _unused(text: str) -> str:
    present = set(text)
    return next(chr(code) for code in chain(*_PRIVATE) if chr(code) not in present)
