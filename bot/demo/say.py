"""What the scripted model says, before it is put into the words of any one API. Pure."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

# What every answer claims to have used: figures that a test can add up. OpenAI's APIs count the cached ones as input
# too, Anthropic's apart.
INPUT_TOKENS = 200
CACHED_TOKENS = 1000
OUTPUT_TOKENS = 34

STATUSES = (400, 401, 402, 403, 404, 413, 429, 500, 503, 529)
"""The HTTP statuses with which every API can be told to fail."""


@dataclass(frozen=True)
class Call:
    """One use of a tool that the model asks for."""

    tool: str
    input: Mapping[str, Any]
    text: str = ""
    """Set for a tool that takes plain text and no JSON (OpenAI's custom tools); ``input`` is empty then."""


@dataclass(frozen=True)
class Say:
    """One answer of the model: words, a call, or both; neither is an answer too."""

    text: str = ""
    call: Call | None = None
    stop: Literal["end_turn", "max_tokens", "refusal"] = "end_turn"
    """Why it ended; with a call it is always for the call."""


def words(text: str) -> list[str]:
    """``text`` in the pieces of a stream; together they are ``text`` again."""
    return re.findall(r"\s*\S+\s*", text)


def new_id(prefix: str) -> str:
    """An id in the style of the APIs."""
    return prefix + uuid.uuid4().hex[:24]
