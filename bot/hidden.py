"""Take out of a text what a person does not see when GitHub shows it. Pure; bounded work whatever the text.

HTML comments, characters without a width or a glyph, texts that stand in for images, titles of links: an agent reads
them all, and whoever asks it to act on a thread has not. Nothing here is a defence against words that can be seen.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

# GitHub's own limit for a body; what is longer did not come from there.
MAX_CHARS = 262_144

# A comment ends at "-->", at "--!>", or never; "<!-->" and "<!--->" are whole ones.
_COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
# Declarations and instructions are not shown either.
_OTHER = re.compile(r"<(?:![A-Za-z\[]|\?)[^>]*(?:>|\Z)")
# One pair of brackets may be inside; a start without an end is given up at the next bracket.
_IMAGE = re.compile(r"!\[(?:[^\[\]\\]|\\.|\[[^\[\]]{0,500}\])*\](?:\([^)\n]{0,4000}\)|\[[^\]\n]{0,200}\])?")
_TITLE = re.compile(r"(\]\(<?[^\s()<>]{1,4000}>?)\s+(?:\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|\([^)\n]{0,2000}\))\s*\)")
_TAG_IMAGE = re.compile(r"<(?:img|picture|source|video|audio|svg)\b[^>]*(?:>|\Z)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"(<[A-Za-z][A-Za-z0-9-]*)\s[^>]*(>|\Z)")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]{1,200}\]:[^\n]*$", re.MULTILINE)

# Of the category "format" these are what words are written with; all other invisible ones go.
_KEPT_FORMAT = frozenset("\u0600\u0601\u0602\u0603\u06dd\u070f")
_BLANK_LETTERS = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\u034f\u061c\u00ad")


class Shown(NamedTuple):
    """What is left, and how many hidden things were taken out."""

    text: str
    hidden: int


def shown(text: str) -> Shown:
    """``text`` as somebody sees it. Taking out goes on until nothing is found: pieces must not join to a whole one."""
    hidden = 0
    text = text[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n")
    text, count = without_invisible(text)
    hidden += count
    for pattern, by in _STEPS:
        text, count = _to_a_fixed_point(pattern, by, text)
        hidden += count
    return Shown(text, hidden)


def without_invisible(text: str) -> tuple[str, int]:
    """The characters that can be seen, and how many others there were."""
    kept = "".join(char for char in text if not _invisible(char))
    return kept, len(text) - len(kept)


def _invisible(char: str) -> bool:
    if char in "\n\t" or char in _KEPT_FORMAT:
        return False
    if char in _BLANK_LETTERS or "\ufe00" <= char <= "\ufe0f" or "\U000e0000" <= char <= "\U000e0fff":
        return True
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn"}


_STEPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_COMMENT, ""),
    (_OTHER, ""),
    (_TAG_IMAGE, "[image]"),
    (_ATTRIBUTE, r"\1\2"),
    (_IMAGE, "[image]"),
    (_TITLE, r"\1)"),
    (_REFERENCE, ""),
)
# Each round takes out at least one; a text made to need more is cut by the caller's bound on length.
MAX_ROUNDS = 20


def _to_a_fixed_point(pattern: re.Pattern[str], by: str, text: str) -> tuple[str, int]:
    total = 0
    for _ in range(MAX_ROUNDS):
        text, count = pattern.subn(by, text)
        if not count:
            return text, total
        total += count
        if by.startswith("["):  # what is put in its place holds no such thing again
            return text, total
    return pattern.sub(by, text), total
