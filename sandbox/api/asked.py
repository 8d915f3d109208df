"""What a call asks for: the sandbox's name, the query, the JSON of a body. Pure; a mistake is ``Refused`` in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from sandbox.job import NAME_PATTERN

M = TypeVar("M", bound=BaseModel)

NAME_RULE = "a sandbox's name has 1 to 63 characters: a-z, 0-9 and hyphens, no hyphen at either end"
_NAME = re.compile(NAME_PATTERN.removesuffix("$"), re.ASCII)


class Refused(Exception):
    """The call cannot be served as it is: a status, and words for whoever made it. ``code`` is for programs."""

    def __init__(self, status: int, words: str, code: str = "refused") -> None:
        super().__init__(words)
        self.status = status
        self.code = code


def sandbox_name(text: str) -> str:
    """The name itself."""
    if not _NAME.fullmatch(text):
        raise Refused(400, NAME_RULE)
    return text


def named_in(raw_path: str) -> str | None:
    """The name that a path is about, checked; None for a path about no sandbox. What comes after it is not judged."""
    parts = raw_path.split("/")
    return sandbox_name(parts[2]) if parts[:2] == ["", "sandboxes"] and len(parts) > 2 else None


def query(given: Iterable[tuple[str, str]], known: Iterable[str]) -> dict[str, str]:
    """The query's values by name: none twice, none that is not known."""
    allowed, found = tuple(known), dict[str, str]()
    for name, value in given:
        if name not in allowed:
            takes = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            raise Refused(400, f"{name[:64]!r} is no parameter of this call; {takes}")
        if name in found:
            raise Refused(400, f"the parameter {name} is there twice")
        found[name] = value
    return found


def prompt(body: bytes) -> str:
    """The prompt of a task."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(400, "the prompt is not UTF-8 text") from None
    if not text.strip():
        raise Refused(400, "the prompt is blank: say in the body what is to be done")
    return text


def value(kind: type[M], body: bytes, form: str) -> M:
    """The body as a value of ours; ``form`` says what to send. The words never quote the body: it may hold a secret."""
    try:
        text = body.decode("utf-8")
        json.loads(text, object_pairs_hook=_once)
        return kind.model_validate_json(text)
    except ValidationError as error:
        where = ", ".join(sorted({".".join(map(str, item["loc"])) or "body" for item in error.errors()}))
        raise Refused(400, f"the body does not fit at: {_plain(where)}; send {form}") from None
    except (ValueError, RecursionError):
        raise Refused(400, f"the body is no JSON; send {form}") from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Two readers could each take another one of two equal keys."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _plain(text: str) -> str:
    """Names of keys are the caller's: shown as far as they are plain."""
    return re.sub(r"[^\w., -]", "?", text, flags=re.ASCII)[:200]
