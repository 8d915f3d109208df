"""What the scripted model does with a request: its scenarios, chosen by name. Pure.

    ok          write NOTES.md and point to it from README.md, then a final text: the demo
    shell:A:B   run the commands A and B (base64) one after another, then a final text
    loop        one more command for ever
    slow        as ok, a word at a time with a pause between
    noop, decline, empty, maxtokens, refusal
                nothing done: a text; a no in plain words; no content; cut off by the limit; the API's own refusal
    badtool     call a tool that does not exist, then a final text
    400 401 402 403 404 413 429 500 503 529, html
                that HTTP status; 502 with a page as from a proxy
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
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from bot.demo.messages import STATUSES, Call, Say

DECLINE = "I'm sorry, but I can't help with that request."
LOOP_COMMAND = "true"
# Claude Code's own messages to the model, which nobody typed.
_REMINDER = "<system-reminder>"
_MARKER = re.compile(r"\[\[scenario:([A-Za-z0-9+/=:]+)\]\]")
_CWD = re.compile(r"working directory:? (/[^\s\\\"<`]+)", re.IGNORECASE)
# A line of the prompt in NOTES.md and no more.
_QUOTE_CHARS = 200

BreakKind = Literal["nocontact", "hang", "html", "drop", "cut", "stall", "streamerror", "garbage"]
BREAKS: tuple[BreakKind, ...] = get_args(BreakKind)


@dataclass(frozen=True)
class Fail:
    """An HTTP status in place of an answer."""

    status: int


@dataclass(frozen=True)
class Break:
    """A failure below HTTP. ``say`` is what was being said when it came."""

    kind: BreakKind
    say: Say


Answer = Say | Fail | Break


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: str
    content: str | list[_Part]


class _Tool(BaseModel):
    model_config = ConfigDict(extra="ignore")
    name: str


class Asked(BaseModel):
    """The part of a request's body that the script looks at."""

    model_config = ConfigDict(extra="ignore")
    model: str
    stream: bool = False
    messages: list[_Message]
    tools: list[_Tool] = []
    system: Any = None

    def typed(self) -> list[str]:
        """The texts that came from a person, in their order."""
        parts = [part for said in self.messages if said.role == "user" for part in _parts(said)]
        return [p.text for p in parts if p.type == "text" and not p.text.lstrip().startswith(_REMINDER)]

    def results(self) -> int:
        """How many calls have been answered."""
        return sum(part.type == "tool_result" for said in self.messages for part in _parts(said))

    def folder(self) -> str:
        """Where the agent works, as the request says."""
        found = _CWD.search(str(self.system)) or _CWD.search(str(self.messages))
        return found[1] if found else "/ws/repo"


def marker(scenario: str) -> str:
    """What a prompt must contain to choose this scenario."""
    return f"[[scenario:{scenario}]]"


def shell(*commands: str) -> str:
    """The scenario in which these shell commands are run one after another."""
    return ":".join(["shell", *(base64.b64encode(command.encode()).decode() for command in commands)])


def chosen(asked: Asked, default: str) -> str:
    """The scenario that the prompt names, or else ``default``."""
    named = [name for text in asked.typed() for name in _MARKER.findall(text)]
    return named[-1] if named else default


def known(scenario: str) -> bool:
    """Whether there is such a scenario."""
    name = scenario.partition(":")[0]
    return name in {*_SAYINGS, *_SCRIPTS, *BREAKS, *map(str, STATUSES)}


def answer(asked: Asked, scenario: str) -> Answer:
    """The model's next answer. Raises ``ValueError`` for a scenario that is not known."""
    name, _, argument = scenario.partition(":")
    if not asked.tools and (name in _SAYINGS or name in _SCRIPTS):
        return Say(text="Notes")  # a title or a summary
    if name in _SAYINGS:
        return _SAYINGS[name]
    if name in _SCRIPTS:
        return _next(_SCRIPTS[name](asked, argument), asked.results())
    for kind in BREAKS:
        if kind == name:
            return Break(kind, _next(_ok(asked, ""), asked.results()))
    if name.isdecimal() and int(name) in STATUSES:
        return Fail(int(name))
    raise ValueError(f"scenario {scenario!r} is not known")


def _next(script: list[Say], done: int) -> Say:
    return script[min(done, len(script) - 1)]


def _parts(said: _Message) -> list[_Part]:
    return [_Part(type="text", text=said.content)] if isinstance(said.content, str) else said.content


def _ok(asked: Asked, _: str) -> list[Say]:
    """What the demo shows: a new file and an edited one."""
    typed = _MARKER.sub("", next(iter(asked.typed()), "")).strip()
    quote = (typed.splitlines() or ["(an empty prompt)"])[0][:_QUOTE_CHARS]
    notes = f"# Notes\n\nAsked for:\n\n> {quote}\n\nWritten by the scripted model.\n"
    path = f"{asked.folder()}/NOTES.md"
    return [
        Say("I will write the notes first.", Call("Write", {"file_path": path, "content": notes})),
        Say("Now I point to them from the README.", _bash("printf '\\nSee NOTES.md.\\n' >> README.md")),
        Say("Done: I wrote NOTES.md and pointed to it from README.md."),
    ]


def _shell(_: Asked, argument: str) -> list[Say]:
    commands = [base64.b64decode(part, validate=True).decode() for part in argument.split(":")]
    return [*(Say("I will run this.", _bash(command)) for command in commands), Say("Done: I ran what was asked.")]


def _loop(_: Asked, __: str) -> list[Say]:
    return [Say("Once more.", _bash(LOOP_COMMAND))]


def _badtool(_: Asked, __: str) -> list[Say]:
    return [Say("I will use it.", Call("no_such_tool", {"x": 1})), Say("Done: there was no such tool.")]


def _bash(command: str) -> Call:
    return Call("Bash", {"command": command, "description": "Run it"})


_SAYINGS = {
    "noop": Say("Nothing to do: it is as you want it already."),
    "decline": Say(DECLINE),
    "empty": Say(),
    "maxtokens": Say("This is cut", stop="max_tokens"),
    "refusal": Say(DECLINE, stop="refusal"),
}
_SCRIPTS = {"ok": _ok, "slow": _ok, "shell": _shell, "loop": _loop, "badtool": _badtool}
