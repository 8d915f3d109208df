"""The options of a command: what may stand between the command word and the prompt. Pure; never raises.

    options = { OPTION blank } [ "--" blank ]
    OPTION  = --NAME | --NAME=VALUE | --NAME blank VALUE        on the command's own line

One table is the grammar, the help and the page for users. What a value may be is checked here; whether the operator
and the repository allow it is asked later. ``--`` ends the options: what comes after it is the prompt, dashes and all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.command_budget import budget
from bot.tasks import Mistake, Options, Slip
from bot.typos import nearest
from sandbox import Budget

# What keyboards make of two dashes is taken for them.
_DASHED = re.compile(r"(?:[-–—]{1,2})(\w[\w-]*)(?:=(.*))?", re.DOTALL)
_END = re.compile(r"--|—")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
# Gateways name models with all of these.
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}")
# Narrower than git's own rules: no option, no revision, nothing that climbs in a URL.
_BRANCH = re.compile(r"(?![-/.])(?!.*(?:\.\.|//|@\{|/\.|\.lock(?:/|$)))[^\x00-\x20\x7f~^:?*\[\\]{1,200}(?<![/.])")


@dataclass(frozen=True)
class Option:
    """One option: its value's name for people (empty: it takes none), what it means, and what it sets."""

    value: str
    meaning: str
    sets: str
    read: Callable[[str], Any] = field(repr=False)


def _matching(pattern: re.Pattern[str]) -> Callable[[str], str | None]:
    return lambda text: text if pattern.fullmatch(text) else None


OPTIONS: Mapping[str, Option] = {
    "pr": Option("", "bring the result as a pull request", "result", lambda _: "pr"),
    "diff": Option("", "bring the result as a diff in a comment", "result", lambda _: "diff"),
    "agent": Option("NAME", "which agent works on it", "agent", _matching(_NAME)),
    "model": Option("NAME", "which of the agent's models", "model", _matching(_MODEL)),
    "base": Option("BRANCH", "the branch that the pull request is for", "base", _matching(_BRANCH)),
    "draft": Option("", "the pull request is a draft", "draft", lambda _: True),
    "ready": Option("", "the pull request is ready for review", "draft", lambda _: False),
    "budget": Option(
        "AMOUNT", "stop at so much: `30m` of time, `$2`, `500ktok`, `40req`, or several with commas", "budget", budget
    ),
}

Read = tuple[Options, str]
"""The options, and the text after them."""


def read(text: str) -> Read | Mistake:
    """Take the options off the front of ``text`` (what comes after the command word). Each may be given once."""
    found: dict[str, Any] = {}
    rest = text.lstrip()
    while (piece := _first(rest)) is not None:
        word, after = piece
        if _END.fullmatch(word):
            return Options(**found), after
        taken = _take(word, after)
        if isinstance(taken, Mistake):
            return taken
        option, value, rest = taken
        if option.sets in found:
            return Mistake(slip=Slip.CONFLICT, found=word)
        found[option.sets] = value
        rest = rest.lstrip()
    return Options(**found), rest


def _first(text: str) -> tuple[str, str] | None:
    """The first word where it looks like an option (or ends them), and what follows."""
    word, _, _ = text.partition("\n")
    parts = word.split(maxsplit=1)
    if not parts or not (_DASHED.fullmatch(parts[0]) or _END.fullmatch(parts[0])):
        return None
    return parts[0], text[len(parts[0]) :]


def _take(word: str, after: str) -> tuple[Option, Any, str] | Mistake:
    match = _DASHED.fullmatch(word)
    name, value = (match[1].lower(), match[2]) if match else ("", None)
    option = OPTIONS.get(name)
    if option is None or not word.startswith(("--", "–", "—")):
        return Mistake(slip=Slip.OPTION, found=word.partition("=")[0], nearest=nearest(name, OPTIONS))
    if not option.value:
        return (option, option.read(""), after) if value is None else Mistake(slip=Slip.VALUE, found=word, nearest=name)
    if value is None:
        line = after.partition("\n")[0].split(maxsplit=1)
        value = line[0] if line and after[:1] != "\n" else ""
        after = after[after.index(value) + len(value) :] if value else after
    given = option.read(value)
    if given is None:
        return Mistake(slip=Slip.VALUE, found=f"--{name} {value}".strip(), nearest=name)
    return option, given, after


def render(options: Options) -> str:
    """The options as ``read`` reads them, each followed by a blank."""
    words = []
    for name, option in OPTIONS.items():
        value = getattr(options, option.sets)
        if option.value and value not in (None, Budget()):
            words.append(f"--{name}={value if isinstance(value, str) else _amounts(value)} ")
        elif not option.value and value == option.read("") and value is not None:
            words.append(f"--{name} ")
    return "".join(words)


def _amounts(given: Budget) -> str:
    parts = [
        (given.wall_seconds, "{}s"),
        (given.cost_usd, "${:.13g}"),
        (given.tokens, "{}tok"),
        (given.model_requests, "{}req"),
    ]
    return ",".join(how.format(value) for value, how in parts if value is not None)
