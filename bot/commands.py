"""The grammar of the command word: a comment's body to a command, a mistake, or neither. Pure; never raises.

    body     = anything, then a command line, then anything
    command  = WORD blank [OPTIONS] PROMPT | WORD blank VERB | WORD blank OPTIONS ``retry`` or ``pr``
    WORD     = the command word (``/agent``), in any case, as the first thing on a line (blanks may precede it,
               also wide ones and those of no width, which come along when a text is pasted)
    PROMPT   = the rest of that line and all lines after it, up to the next command line or the end of the body
    OPTIONS  = see ``bot.command_options``
    VERB     = ``help``, ``status``, ``cancel``, ``retry``, ``pr``, ``diff``, alone: with anything after it, it is the
               start of a prompt (``/agent status page is broken``)

- A command line is a line of a plain paragraph of the comment itself. In code (fenced, indented, inline), in a quote,
  in HTML, in an HTML comment and after a backslash (``\\/agent``) nothing is a command, nor a mistake: that is somebody
  showing or quoting one. HTML is all between the tags of an element that quotes or folds away, blank lines or not.
- In a list, a table or a heading, amid a sentence, or on a line that Markdown draws into the quote or list above for
  want of a blank line, it is not a command either. But it speaks to us, so it is a mistake, and its writer is told.
- The word ends at a blank: ``/agents``, ``/agent-smith``, ``/agent/x`` are other words, ``/agent:`` is a mistake.
- One command a comment: the first counts, and ``others`` names the rest.
- What looks like an option right after the word and is none is a mistake, never silently a part of the prompt.
- A lone word close to a verb is a mistake (``/agent hepl``); any other lone word is a prompt (``/agent refactor``).
- Line ends may be CRLF, CR or LF. The prompt is the asker's text with LF, without blanks at its two ends, and without
  NULs and lone surrogates, which cannot be stored.
"""

from __future__ import annotations

import re
import unicodedata

from bot import command_options, live_text
from bot.tasks import Command, Mistake, Options, Slip, Verb
from bot.typos import is_typo
from sandbox import MAX_PROMPT_BYTES

__all__ = ["DEFAULT_WORD", "VERBS", "WORD_PATTERN", "Command", "Mistake", "others", "parse", "render"]

DEFAULT_WORD = "/agent"

# A slash keeps the word from being a mention, and from starting a list, a heading or a quote in Markdown.
WORD_PATTERN = r"/[A-Za-z][A-Za-z0-9-]{0,31}"

VERBS: dict[Verb, tuple[str, str]] = {
    Verb.RUN: ("PROMPT", "do what PROMPT says; it may go on over many lines"),
    Verb.STATUS: ("status", "what is under way and waiting on this thread"),
    Verb.CANCEL: ("cancel", "stop what is under way or waiting on this thread"),
    Verb.RETRY: ("retry", "the thread's last task again; where only posting failed, only posting"),
    Verb.PR: ("pr", "a pull request from the last result, without running again"),
    Verb.DIFF: ("diff", "the last result as a diff, without running again"),
    Verb.HELP: ("help", "show this"),
}
"""What is printed as help: how it is written after the word, and what it does."""

_ALONE = {verb.value: verb for verb in Verb if verb is not Verb.RUN}
# Verbs that options may stand before: they begin something.
_WITH_OPTIONS = frozenset({Verb.RETRY, Verb.PR})

MAX_OTHERS = 10
"""Further commands of one comment that are named; a comment that is full of them is not listed whole."""

MAX_FOUND_CHARS = 100
"""Of the asker's own text, as it is quoted back to him."""


def parse(body: str, word: str = DEFAULT_WORD) -> Command | Mistake | None:
    """What ``body`` asks for. None: nothing, or nothing of us."""
    text = _plain(body)
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


def others(body: str, word: str = DEFAULT_WORD) -> tuple[str, ...]:
    """The first lines of the commands after the first, each cut: the asker's own text."""
    text = _plain(body)
    if len(text) > live_text.MAX_CHARS:
        return ()
    lines = text.split("\n")
    return tuple(_short(lines[at].strip()) for at in live_text.find(text, word).lines[1 : 1 + MAX_OTHERS])


def render(command: Command, word: str = DEFAULT_WORD) -> str:
    """A body that ``parse`` reads as ``command``."""
    options = command_options.render(command.options)
    if command.verb is not Verb.RUN:
        return f"{word} {options}{command.verb}"
    # what looks like an option, or ends them, is told apart from one
    stop = "-- " if re.match(r"[-–—]", command.prompt) else ""
    return f"{word} {options}{stop}{command.prompt}"


def _command(prompt: str) -> Command | Mistake:
    if not prompt:
        return Mistake(slip=Slip.EMPTY)
    if len(prompt.encode()) > MAX_PROMPT_BYTES:
        return Mistake(slip=Slip.TOO_LONG)
    read = command_options.read(prompt)
    if isinstance(read, Mistake):
        return read.model_copy(update={"found": _short(read.found)})
    options, text = read[0], read[1].strip()
    if not text:
        return Mistake(slip=Slip.EMPTY)
    return _lone(text, options) or Command(verb=Verb.RUN, prompt=text, options=options)


def _lone(prompt: str, options: Options) -> Command | Mistake | None:
    """A prompt of one word may be a verb, or meant to be one."""
    if len(prompt.split()) > 1:
        return None
    said = unicodedata.normalize("NFC", prompt).casefold()
    if (verb := _ALONE.get(said)) is not None:
        if options != Options() and verb not in _WITH_OPTIONS:
            return Mistake(slip=Slip.CONFLICT, found=said)
        return Command(verb=verb, options=options)
    near = [verb for verb in _ALONE if is_typo(said, verb)]
    return Mistake(slip=Slip.TYPO, found=_short(prompt), nearest=near[0]) if near else None


def _plain(body: str) -> str:
    """With LF as line end, and without what no database and no file could take: NULs, halves of surrogate pairs."""
    text = body.replace("\0", "").encode("utf-8", "ignore").decode()
    return text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")


def _mistake(slip: Slip, found: str) -> Mistake:
    return Mistake(slip=slip, found=_short(found))


def _short(text: str) -> str:
    return text if len(text) <= MAX_FOUND_CHARS else text[: MAX_FOUND_CHARS - 1] + "…"
