"""How long ago something was, on a clock that may be set. Pure."""

from __future__ import annotations


def past(now: float, since: float, seconds: float) -> bool:
    """Whether ``seconds`` are over since ``since``.

    True also where ``since`` lies ahead: the clock was put back, and what recurs must not rest for as long as that.
    """
    return not 0 <= now - since < seconds
