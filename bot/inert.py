"""The one renderer for text that is not ours: the agent's words, file contents, host and file names. Pure.

Such text travels as ``Untrusted``, which cannot be formatted, joined or printed by accident. What comes out of here is
Markdown in which nothing of it is live: it stands only inside a fenced block or a code span that it cannot end, where
GitHub makes no mention, reference, link, image or HTML of it. What a reader could not see (control characters, text
direction, zero-width and unassigned characters) is written out as ``<U+202E>``.

Other bots read comments too, and their parsers are simpler than Markdown: prose gets ``> `` before each line, so that
no line starts with a command. A diff needs no such thing: its lines start with a blank, ``+``, ``-`` or a header.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NoReturn

MIN_FENCE = 4
"""Backticks: one more than people write, so that a block with a block in it looks right in the raw text too."""

MAX_RUN = 32
"""Backticks in a row that are shown as such. A longer run is named by its length: a fence must be longer still."""

CUT = "…"


class Untrusted:
    """Text or bytes from outside, which only this module can open. Bytes that are no UTF-8 show as U+FFFD."""

    __slots__ = ("_text",)

    def __init__(self, text: str | bytes) -> None:
        self._text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text

    def __bool__(self) -> bool:
        return bool(self._text.strip())

    def __repr__(self) -> str:
        return f"Untrusted({len(self._text)} characters)"

    def __str__(self) -> NoReturn:
        raise TypeError("untrusted text is rendered by bot.inert only")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("untrusted text is rendered by bot.inert only")


@dataclass(frozen=True)
class Block:
    """A fenced block, and what was done to make it so."""

    text: str
    """Markdown; empty where nothing fitted."""
    taken: tuple[int, ...] = ()
    """Indexes of the pieces that are in it."""
    cut: bool = False
    """The last piece is not whole."""
    escaped: int = 0
    """Characters that are written out because they could not be seen, or not be let through."""
    line_ends: int = 0
    """Lines that ended in CRLF and are shown without the CR."""


def units(text: str) -> int:
    """Length as the most cautious reader of GitHub's limit counts it: UTF-16 units, never fewer than characters."""
    return len(text) + sum(character > "\uffff" for character in text)


def inline(text: Untrusted, room: int = 100) -> str:
    """One code span on one line, for names, with at most ``room`` units in it. Not for tables: a ``|`` ends a cell."""
    whole = _opened(text)
    kept = _fitting(whole, room, keep="")
    shown = _visible(kept, keep="")[0] + (CUT if len(kept) < len(whole) else "")
    if not shown.strip():
        return "(empty)"
    fence = "`" * (_longest_run(shown) + 1)
    pad = " " if shown[0] in " `" or shown[-1] in " `" else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def quote(text: Untrusted, room: int) -> Block:
    """Prose as a fenced block of at most ``room`` units with ``> `` before each line, cut where it does not fit.

    It is cut before it is rendered: no escape and no fence is ever cut in two.
    """
    raw = _opened(text)
    lines, line_ends = _lines(raw[:room])
    budget = room - _frame(MAX_RUN + 1, "text")
    cut = len(raw) > room
    escaped = 0
    shown: list[str] = []
    for line in lines:
        whole, count = _visible(line, keep="\t")
        if cut_here := units(whole) + len("> …\n") > budget:
            whole, count = _visible(_fitting(line, budget - len("> …\n"), keep="\t"), keep="\t")
        budget -= units(whole) + len("> \n")
        escaped += count
        shown.append(f"> {whole}")
        if cut_here:
            cut = True
            break
    if cut:
        shown[-1] += CUT
    return Block(_fenced(shown, "text"), (0,), cut=cut, escaped=escaped, line_ends=line_ends)


def block(pieces: Iterable[Untrusted], info: Literal["diff", "text"], room: int) -> Block:
    """Those of ``pieces`` that fit as a whole into one fenced block of at most ``room`` units, in their order.

    A piece that does not fit is left out and the next is tried: one huge file must not hide the small ones after it.
    """
    budget = room - _frame(MAX_RUN + 1, info)
    lines: list[str] = []
    taken: list[int] = []
    escaped = line_ends = 0
    for index, piece in enumerate(pieces):
        if len(_opened(piece)) > budget:
            continue
        plain, ends = _lines(_opened(piece))
        shown, count = _visible("\n".join(plain), keep="\t\n")
        if units(shown) + 1 > budget:
            continue
        budget -= units(shown) + 1
        lines.append(shown)
        taken.append(index)
        escaped, line_ends = escaped + count, line_ends + ends
    text = _fenced(lines, info) if lines else ""
    return Block(text, tuple(taken), escaped=escaped, line_ends=line_ends)


def _opened(text: Untrusted) -> str:
    return text._text


def _lines(text: str) -> tuple[list[str], int]:
    """Lines without line ends, and how many of them ended in CRLF. A CR elsewhere stays and will be written out."""
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines], sum(line.endswith("\r") for line in lines)


def _fitting(line: str, room: int, keep: str) -> str:
    """As much of the start of ``line`` as is at most ``room`` units once written out; cut before it is rendered."""
    used = 0
    for index, character in enumerate(line):
        # Alone, a `<` or a selector is not seen for what it may turn into beside its neighbours.
        used += 8 if character == "<" else units(_visible(character, keep)[0])
        if used > room:
            return line[:index]
    return line


def _frame(fence: int, info: str) -> int:
    return 2 * fence + len(info) + len("\n\n")


def _fenced(lines: list[str], info: str) -> str:
    body = "\n".join(lines)
    fence = "`" * max(MIN_FENCE, _longest_run(body) + 1)
    return f"{fence}{info}\n{body}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


# Everything but plain ASCII text; what a marker of ours starts with; backticks that no fence should have to outdo.
_SUSPECT = re.compile(rf"[^\x20-\x7e]|<(?=!--\s*gofer:)|`{{{MAX_RUN + 1},}}", re.IGNORECASE)


def _visible(text: str, keep: str) -> tuple[str, int]:
    """``text`` with all that is invisible written out, but for ``keep``; and how many such places there were."""
    count = 0

    def show(match: re.Match[str]) -> str:
        nonlocal count
        found = match[0]
        if found in keep or (len(found) == 1 and found > "\x7e" and not _hidden(found)):
            return found
        if found == "\ufe0f" and match.start() and _is_symbol(text[match.start() - 1]):
            return found
        count += 1
        return f"<{len(found)} backticks>" if found[0] == "`" and len(found) > 1 else f"<U+{ord(found):04X}>"

    return _SUSPECT.sub(show, text), count


def _is_symbol(character: str) -> bool:
    """An emoji may be followed by the selector that asks for its coloured form. A second one would hide a message."""
    return unicodedata.category(character) == "So"


# Letters and marks by category that show nothing: fillers, joiners, selectors, the blank Braille pattern.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)


@lru_cache(maxsize=4096)
def _hidden(character: str) -> bool:
    """Control, format (text direction, zero width, tags), surrogate, private, unassigned, line and paragraph ends."""
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} or bool(
        _BLANK.match(character)
    )
