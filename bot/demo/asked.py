"""What the scripted model looks at in a request, whichever API it came by. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# The CLIs' own messages to the model, which nobody typed: Claude Code's, then Codex's (where it works, and what the
# repository's AGENTS.md says).
_INSERTED = (
    "<system-reminder>",
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
)
# As Claude Code, OpenCode and Pi say it, and as Codex does.
_CWD = re.compile(r"(?:working directory:? |<cwd>\s*)(/[^\s\\\"<`]+)", re.IGNORECASE)
_USUAL_FOLDER = "/ws/repo"


@dataclass(frozen=True)
class Tool:
    """A tool that the request offers."""

    name: str
    keys: frozenset[str] = frozenset()
    """The names of its arguments, where the request tells."""
    custom: bool = False
    """It takes plain text and no JSON."""


@dataclass(frozen=True)
class Asked:
    """One question to the model."""

    model: str
    stream: bool = False
    typed: tuple[str, ...] = ()
    """The texts that came from a person, in their order."""
    results: int = 0
    """How many calls have been answered."""
    folder: str = _USUAL_FOLDER
    """Where the agent works, as the request says."""
    tools: tuple[Tool, ...] = ()
    usage_chunk: bool = False
    """Chat Completions: the stream is to end with what was used."""


def typed(texts: Iterable[str]) -> tuple[str, ...]:
    """Those of a user's texts that no CLI has put in."""
    return tuple(text for text in texts if not text.lstrip().startswith(_INSERTED))


def folder(*places: object) -> str:
    """Where the agent works, from the first part of a request that tells."""
    found: Iterator[re.Match[str]] = filter(None, (_CWD.search(str(place)) for place in places))
    return next((match[1] for match in found), _USUAL_FOLDER)
