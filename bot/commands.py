"""The grammar of the command word: a comment's body to a command, a mistake, or neither. Pure; never raises.

    body     = anything, then a command line, then anything
    command  = WORD blank PROMPT | WORD blank VERB
    WORD     = the command word (``/agent``), in any case, as the first thing on a line (blanks may precede it,
               also wide ones and those of no width, which come along when a text is pasted)
    PROMPT   = the rest of that line and all lines after it, up to the next command line or the end of the body
    VERB     = ``help``, alone: with anything after it, it is the start of a prompt (``/agent help me test``)

- A command line is a line of a plain paragraph of the comment itself. In code (fenced, indented, inline), in a quote,
  in HTML, in an HTML comment and after a backslash (``\\/agent``) nothing is a command, nor a mistake: that is somebody
  showing or quoting one. HTML is all between the tags of an element that quotes or folds away, blank lines or not.
- In a list, a table or a heading, amid a sentence, or on a line that Markdown draws into the quote or list above for
  want of a blank line, it is not a command either. But it speaks to us, so it is a mistake, and its writer is told.
- The word ends at a blank: ``/agents``, ``/agent-smith``, ``/agent/x`` are other words, ``/agent:`` is a mistake.
- One command a comment: the first counts.
- There are no options. What looks like one right after the word is a mistake, never silently a part of the prompt.
- A lone word close to a verb is a mistake (``/agent hepl``); any other lone word is a prompt (``/agent refactor``).
- Line ends may be CRLF, CR or LF. The prompt is the asker's text with LF, without blanks at its two ends, and without
  NULs and lone surrogates, which cannot be stored.
"""

from __future__ import annotations

import re
import unicodedata

from bot import live_text
from bot.tasks import Command, Mistake, Slip, Verb
from sandbox import MAX_PROMPT_BYTES

__all__ = ["DEFAULT_WORD", "LATER", "VERBS", "WORD_PATTERN", "Command", "Mistake", "parse", "render"]

DEFAULT_WORD = "/agent"

# A slash keeps the word from being a mention, and from starting a list, a heading or a quote in Markdown.
WORD_PATTERN = r"/[A-Za-z][A-Za-z0-9-]{0,31}"

VERBS: dict[Verb, tuple[str, str]] = {
    Verb.RUN: ("PROMPT", "do what PROMPT says; it may go on over many lines"),
    Verb.HELP: ("help", "show this"),
}
"""What is printed as help: how it is written after the word, and what it does."""

LATER = ("status", "cancel", "retry", "pr", "diff")
"""Verbs that are kept free: alone, they are told to be not there yet, instead of being run as a prompt."""

_ALONE = {"help": Verb.HELP}

# Dashes, and what keyboards make of two of them, before a letter.
_OPTION = re.compile(r"[-–—]{1,2}\w[^\s=]*")

MAX_TYPO = 2
"""Letters to add, drop, change or swap with a neighbour; for words of four letters and fewer, one."""

MAX_FOUND_CHARS = 100
"""Of the asker's own text, as it is quoted back to him."""


def parse(body: str, word: str = DEFAULT_WORD) -> Command | Mistake | None:
    """What ``body`` asks for. None: nothing, or nothing of us."""
    text = _storable(body).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    if len(text) > live_text.MAX_CHARS:
        return Mistake(slip=Slip.TOO_LONG) if word.lower() in text.lower() else None
    found = live_text.find(text, word)
    if not found.lines:
        return None if found.astray is None else _mistake(Slip.PLACE, found.astray)
    lines = text.split("\n")
    first, end = found.lines[0], found.lines[1] if len(found.lines) > 1 else len(lines)
    head = re.sub(rf"^[{live_text.LEADING}]+", "", lines[first])[len(word) :]
    if head and not head[0].isspace():
        return _mistake(Slip.GLUED, head[0])
    return _command("\n".join([head, *lines[first + 1 : end]]).strip())


def render(command: Command, word: str = DEFAULT_WORD) -> str:
    """A body that ``parse`` reads as ``command``."""
    return f"{word} {command.prompt if command.verb is Verb.RUN else command.verb}"


def _command(prompt: str) -> Command | Mistake:
    if not prompt:
        return Mistake(slip=Slip.EMPTY)
    if len(prompt.encode()) > MAX_PROMPT_BYTES:
        return Mistake(slip=Slip.TOO_LONG)
    if _OPTION.match(prompt):
        return _mistake(Slip.OPTION, " ".join(_options(prompt)))
    return _lone(prompt) or Command(verb=Verb.RUN, prompt=prompt)


def _options(prompt: str) -> list[str]:
    """The names of what looks like options on the prompt's first line."""
    words = prompt.split("\n", 1)[0].split()
    return [match[0] for match in map(_OPTION.match, words) if match]


def _lone(prompt: str) -> Command | Mistake | None:
    """A prompt of one word may be a verb, or meant to be one."""
    if len(prompt.split()) > 1:
        return None
    said = unicodedata.normalize("NFC", prompt).casefold()
    if said in _ALONE:
        return Command(verb=_ALONE[said])
    if said in LATER:
        return Mistake(slip=Slip.NOT_YET, found=said)
    near = [verb for verb in (*_ALONE, *LATER) if _is_typo(said, verb)]
    return Mistake(slip=Slip.TYPO, found=_short(prompt), nearest=near[0]) if near else None


def _is_typo(said: str, verb: str) -> bool:
    allowed = MAX_TYPO if len(verb) > 4 else 1
    return len(said) > 2 and abs(len(said) - len(verb)) <= allowed and _distance(said, verb) <= allowed


def _distance(one: str, other: str) -> int:
    """Edits between two short words; swapping neighbours counts as one (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _storable(text: str) -> str:
    """Without what no database and no file could take: NULs and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode()


def _mistake(slip: Slip, found: str) -> Mistake:
    return Mistake(slip=slip, found=_short(found))


def _short(text: str) -> str:
    return text if len(text) <= MAX_FOUND_CHARS else text[: MAX_FOUND_CHARS - 1] + "…"
