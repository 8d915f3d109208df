"""Paths are bytes; this is how they are shown. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection

from sandbox.inside.bounds import MAX_EXAMPLES


def shown(path: bytes) -> str:
    """Printable text for a path: bytes that are no UTF-8 as ``\\xNN``, control and format characters escaped.

    A backslash is doubled, so two different paths never look the same.
    """
    text = path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
    return "".join(_escape(char) if unicodedata.category(char)[0] in "CZ" and char != " " else char for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def examples(paths: Collection[bytes], most: int = 5) -> str:
    """``a, b and 3 more``, in the order of the bytes."""
    few = [_short(shown(path)) for path in sorted(paths)[:most]]
    rest = len(paths) - len(few)
    return ", ".join(few) + (f" and {rest:,} more" if rest else "")


def some(paths: Collection[bytes]) -> list[str]:
    """The first few for a list in the header."""
    return [_short(shown(path)) for path in sorted(paths)[:MAX_EXAMPLES]]


def _short(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
