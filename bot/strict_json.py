"""JSON that two readers cannot understand differently, and that costs no more than its size. Pure.

The standard reader keeps the last of two equal keys, takes ``NaN`` and numbers of any length, and meets its own
recursion limit on deep nesting. Each of these is an error here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

MAX_DEPTH = 128
"""Nested arrays and objects. GitHub's payloads have about ten."""

MAX_DIGITS = 25
"""Of one number. GitHub's ids have 64 bits, 20 digits; its floats are short."""


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
    # What opens fewer times cannot be deeper; most payloads end here, for a hundredth of what the look costs.
    if body.count(b"[") + body.count(b"{") >= MAX_DEPTH:
        _check_depth(found)
    return found


def _check_depth(value: Any) -> None:
    """Level by level. The parser itself gives up at some hundred levels, so there is an end to it."""
    level = [value]
    depth = 0
    while level := [item for holder in level for item in _items(holder) if isinstance(item, (dict, list))]:
        depth += 1
        if depth >= MAX_DEPTH:
            raise BadJson(f"it is nested deeper than {MAX_DEPTH}")


def _items(holder: Any) -> Iterable[Any]:
    return holder.values() if isinstance(holder, dict) else holder if isinstance(holder, list) else ()


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
