"""What may be written after ``--budget``: amounts with commas between. Pure; never raises.

30s 30m 2h      time            $2 2usd 0.5usd      cost in US dollars
800tok 500ktok 2mtok tokens     40req               questions to the model
"""

from __future__ import annotations

import re

from sandbox import Budget

# More digits than any limit has, and few enough for a float to hold each number exactly.
_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,4})?)"
_KINDS: tuple[tuple[re.Pattern[str], str, dict[str, float]], ...] = (
    (re.compile(_NUMBER + r"(s|m|min|h)"), "wall_seconds", {"s": 1, "m": 60, "min": 60, "h": 3600}),
    (re.compile(r"\$" + _NUMBER + "()"), "cost_usd", {"": 1}),
    (re.compile(_NUMBER + r"(usd|\$)"), "cost_usd", {"usd": 1, "$": 1}),
    (re.compile(_NUMBER + r"(tok|ktok|mtok)"), "tokens", {"tok": 1, "ktok": 1_000, "mtok": 1_000_000}),
    (re.compile(_NUMBER + r"(req)"), "model_requests", {"req": 1}),
)


def budget(text: str) -> Budget | None:
    """The amounts; None where one cannot be read, is zero, or its kind comes twice."""
    found: dict[str, float] = {}
    for part in text.lower().split(","):
        amount = _amount(part.strip())
        if amount is None or amount[0] in found:
            return None
        found[amount[0]] = amount[1]
    return Budget.model_validate(found)


def _amount(text: str) -> tuple[str, float] | None:
    for pattern, kind, units in _KINDS:
        if (match := pattern.fullmatch(text)) is not None:
            value = float(match[1]) * units[match[2]]
            if kind != "cost_usd":
                value = int(value)
            return (kind, value) if value > 0 else None
    return None
