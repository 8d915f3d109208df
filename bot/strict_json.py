"""JSON that two readers cannot understand differently, and that costs no more than its size. Pure.

The standard reader keeps the last of two equal keys, takes ``NaN`` and numbers of any length, and meets its own
recursion limit on deep nesting. Each of these is an error here.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

MAX_DEPTH = 64
"""Nested arrays and objects. GitHub's payloads have about ten."""

MAX_DIGITS = 25
"""Of one number. GitHub's ids have 64 bits, 20 digits; its floats are short."""

_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class BadJson(ValueError):
    """Says what is wrong, without quoting the text."""


def loads(body: bytes | bytearray) -> Any:
    """Parse. Raises ``BadJson`` and nothing else."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadJson("it is not UTF-8") from None
    try:
        found = _DECODER.decode(text)
    except BadJson:
        raise
    except RecursionError:
        raise BadJson(f"it is nested deeper than {MAX_DEPTH}") from None
    except ValueError:
        raise BadJson("it is not JSON") from None
    _check_depth(text)
    return found


def _check_depth(text: str) -> None:
    """After parsing: in well-formed JSON the pattern is linear, in other text it need not be."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRUCTURE.finditer(text):
        bracket = match[0]
        if bracket in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise BadJson(f"it is nested deeper than {MAX_DEPTH}")
        elif bracket in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadJson("a key is there twice")
    return found


def _int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise BadJson("a number is too long")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits) if len(digits) <= MAX_DIGITS else math.inf
    if not math.isfinite(number):
        raise BadJson("a number is too large or too long")
    return number


def _constant(name: str) -> NoReturn:
    raise BadJson(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_int, parse_float=_float, parse_constant=_constant, strict=True
)
