"""What the scripted model does with a request: its scenarios, chosen by name. Pure.

    ok          write NOTES.md and point to it from README.md, then a final text: the demo
    shell:A:B   run the commands A and B (base64) one after another, then a final text
    says:A:B    run the command B and more like it, if there are any, then the final text A (base64)
    read:A      read the file A (base64, from the repository's root) with the tool for that, then a final text
    loop        one more command for ever
    slow        as ok, a word at a time with a pause between
    noop, decline, empty, maxtokens, refusal
                nothing done: a text; a no in plain words; no content; cut off by the limit; the API's own refusal
    badtool     call a tool that does not exist, then a final text
    400 401 402 403 404 413 429 500 503 529, quota, html
                that HTTP status; an account that is used up; 502 with a page as from a proxy
    nocontact, hang
                the connection is closed before an answer; there is never one
    drop, cut, stall, streamerror, garbage
                in the middle of a stream the connection is reset; the stream ends; nothing more comes; an error event
                comes; something comes that is no JSON

A prompt may name its own with ``[[scenario:NAME]]`` anywhere in it. The script keeps no state: how far it has come is
the number of tool results in the request.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Literal, get_args

from bot.demo import tools
from bot.demo.asked import Asked
from bot.demo.say import STATUSES, Call, Say

DECLINE = "I'm sorry, but I can't help with that request."
LOOP_COMMAND = "true"
_MARKER = re.compile(r"\[\[scenario:([A-Za-z0-9+/=:]+)\]\]")
# A line of the prompt in NOTES.md and no more.
_QUOTE_CHARS = 200

BreakKind = Literal["nocontact", "hang", "html", "drop", "cut", "stall", "streamerror", "garbage"]
BREAKS: tuple[BreakKind, ...] = get_args(BreakKind)
FAILURES = (*map(str, STATUSES), "quota")


@dataclass(frozen=True)
class Fail:
    """An HTTP error in place of an answer: one of ``FAILURES``."""

    name: str


@dataclass(frozen=True)
class Break:
    """A failure below HTTP. ``say`` is what was being said when it came."""

    kind: BreakKind
    say: Say


Answer = Say | Fail | Break


def marker(scenario: str) -> str:
    """What a prompt must contain to choose this scenario."""
    return f"[[scenario:{scenario}]]"


def shell(*commands: str) -> str:
    """The scenario in which these shell commands are run one after another."""
    return ":".join(["shell", *(base64.b64encode(command.encode()).decode() for command in commands)])


def says(text: str, *commands: str) -> str:
    """The scenario in which these shell commands are run one after another, and this text is the end."""
    return ":".join(["says", *(base64.b64encode(part.encode()).decode() for part in (text, *commands))])


def read(path: str) -> str:
    """The scenario in which this file of the repository is read."""
    return f"read:{base64.b64encode(path.encode()).decode()}"


def chosen(asked: Asked, default: str) -> str:
    """The scenario that the prompt names, or else ``default``."""
    named = [name for text in asked.typed for name in _MARKER.findall(text)]
    return named[-1] if named else default


def known(scenario: str) -> bool:
    """Whether there is such a scenario."""
    name = scenario.partition(":")[0]
    return name in {*_SAYINGS, *_SCRIPTS, *BREAKS, *FAILURES}


def answer(asked: Asked, scenario: str) -> Answer:
    """The model's next answer. Raises ``ValueError`` for a scenario that is not known."""
    name, _, argument = scenario.partition(":")
    if not asked.tools and (name in _SAYINGS or name in _SCRIPTS):
        return Say(text="Notes")  # a title or a summary
    if name in _SAYINGS:
        return _SAYINGS[name]
    if name in _SCRIPTS:
        return _next(_SCRIPTS[name](asked, argument), asked.results)
    for kind in BREAKS:
        if kind == name:
            return Break(kind, _next(_ok(asked, ""), asked.results))
    if name in FAILURES:
        return Fail(name)
    raise ValueError(f"scenario {scenario!r} is not known")


def _next(script: list[Say], done: int) -> Say:
    return script[min(done, len(script) - 1)]


def _ok(asked: Asked, _: str) -> list[Say]:
    """What the demo shows: a new file and an edited one."""
    typed = _MARKER.sub("", next(iter(asked.typed), "")).strip()
    quote = (typed.splitlines() or ["(an empty prompt)"])[0][:_QUOTE_CHARS]
    notes = f"# Notes\n\nAsked for:\n\n> {quote}\n\nWritten by the scripted model.\n"
    path = f"{asked.folder}/NOTES.md"
    return [
        Say("I will write the notes first.", tools.write(asked.tools, path, notes)),
        Say("Now I point to them from the README.", _bash(asked, "printf '\\nSee NOTES.md.\\n' >> README.md")),
        Say("Done: I wrote NOTES.md and pointed to it from README.md."),
    ]


def _shell(asked: Asked, argument: str) -> list[Say]:
    return [*_run(asked, _parts(argument)), Say("Done: I ran what was asked.")]


def _says(asked: Asked, argument: str) -> list[Say]:
    text, *commands = _parts(argument)
    return [*_run(asked, commands), Say(text)]


def _parts(argument: str) -> list[str]:
    return [base64.b64decode(part, validate=True).decode() for part in argument.split(":")]


def _run(asked: Asked, commands: list[str]) -> list[Say]:
    return [Say("I will run this.", _bash(asked, command)) for command in commands]


def _read(asked: Asked, argument: str) -> list[Say]:
    path = f"{asked.folder}/{base64.b64decode(argument, validate=True).decode()}"
    return [Say("I will read it.", tools.read(asked.tools, path)), Say("Done: I read it.")]


def _loop(asked: Asked, _: str) -> list[Say]:
    return [Say("Once more.", _bash(asked, LOOP_COMMAND))]


def _badtool(_: Asked, __: str) -> list[Say]:
    return [Say("I will use it.", Call("no_such_tool", {"x": 1})), Say("Done: there was no such tool.")]


def _bash(asked: Asked, command: str) -> Call:
    return tools.shell(asked.tools, command)


_SAYINGS = {
    "noop": Say("Nothing to do: it is as you want it already."),
    "decline": Say(DECLINE),
    "empty": Say(),
    "maxtokens": Say("This is cut", stop="max_tokens"),
    "refusal": Say(DECLINE, stop="refusal"),
}
_SCRIPTS = {
    "ok": _ok,
    "slow": _ok,
    "shell": _shell,
    "says": _says,
    "read": _read,
    "loop": _loop,
    "badtool": _badtool,
}
