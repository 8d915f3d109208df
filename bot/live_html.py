"""HTML in a Markdown text that holds other text as shown, quoted, struck out or folded away. Pure.

Markdown ends an HTML block at a blank line, so what stands between ``<blockquote>`` and ``</blockquote>`` with blank
lines around it is a plain paragraph to its parser, and a quotation to every reader.
"""

from __future__ import annotations

import re

HOLDERS = (
    "blockquote",
    "code",
    "del",
    "details",
    "kbd",
    "pre",
    "q",
    "s",
    "samp",
    "strike",
    "table",
    "tt",
)
"""Only elements that GitHub keeps and that nobody leaves open by habit, as people do with ``<p>`` and ``<li>``."""

_TAG = re.compile(rf"<!--.*?(?:-->|\Z)|<(/?)({'|'.join(HOLDERS)})(?=[\s/>])", re.IGNORECASE | re.DOTALL)

MAX_OPEN = 100
"""Elements that are followed at one time. What is deeper is in them anyway."""


class Held:
    """Which of ``HOLDERS`` are open. Told of each piece of HTML in its order; one that is left open stays so."""

    def __init__(self) -> None:
        self._open: list[str] = []

    def see(self, html: str) -> None:
        """One HTML block, or one tag amid a line. A closing tag ends what was opened in its element too."""
        for match in _TAG.finditer(html):
            closing, name = match[1], (match[2] or "").lower()
            if closing and name in self._open:
                while self._open.pop() != name:
                    continue
            elif name and not closing and len(self._open) < MAX_OPEN:
                self._open.append(name)

    def __bool__(self) -> bool:
        return bool(self._open)
