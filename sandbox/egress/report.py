"""What the egress of one sandbox has told: log lines -> Report. Pure; runs on the host, not in the egress image.

The lines come from a process that the agent can send anything to, through an engine's log that may have been cut or
rotated: whatever is not understood is skipped and counted, and never raises.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.egress.meter import Breach
from sandbox.egress.usage import MAX_TOKENS, Used
from sandbox.job import Blocked

# A journal line is under 1 KiB; a longer one is not ours.
MAX_LINE_BYTES = 4 * 2**10
# Destinations that are told to people; the rest is summed up under one name.
MAX_BLOCKED = 50
OTHERS = "others"
BOUNDS = frozenset({"model_requests", "tokens", "cost_usd", "egress_bytes", "same_request"})
_FIGURES = ("input", "cached", "cache_write", "output")


@dataclass(frozen=True, slots=True)
class Report:
    """Facts about one sandbox's way out, as far as the lines tell them."""

    ready: bool = False
    fetch_dropped: bool = False
    fatal: str = ""
    """Why the egress ended or never began, in words."""
    blocked: tuple[Blocked, ...] = ()
    """What the agent asked for and did not get, most frequent first. Of the model's own host, with the path."""
    fetch_refused: tuple[str, ...] = ()
    """Reasons for which requests on the fetch listener were refused, without repetition."""
    model_requests: int = 0
    """Model requests that were let through."""
    model_answers: int = 0
    """Complete 2xx answers of the model."""
    model_statuses: tuple[tuple[int, int], ...] = ()
    """(status, how often) of all answers of the model; 0 where none came."""
    used: Used | None = None
    """Tokens that all answers told together; None where none told any."""
    untold: int = 0
    """Complete answers that told nothing of what they cost."""
    breach: Breach | None = None
    """The bound of the budget that was reached; nothing has gone out since."""
    troubles: int = 0
    gaps: int = 0
    """Numbers that are missing between the first and the last line: lines that the engine's log has lost."""
    bad_lines: int = 0


def read(lines: Iterable[bytes]) -> Report:
    """Read whole lines in their order. Any prefix of a log gives a true, earlier report."""
    seen = _Seen()
    for line in lines:
        if line.strip():
            seen.add(line)
    return seen.report()


class Following:
    """A journal that is read piece by piece, cut anywhere; a line that comes again is known by its number."""

    def __init__(self) -> None:
        self._seen = _Seen()
        self._rest = b""

    def again(self) -> None:
        """What is fed next begins with a line's beginning."""
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[: MAX_LINE_BYTES + 1]
        for line in lines:
            if line.strip():
                self._seen.add(line)

    def report(self) -> Report:
        return self._seen.report()


class _Seen:
    def __init__(self) -> None:
        self.blocked: Counter[str] = Counter()
        self.counted: dict[str, int] = {}
        self.statuses: Counter[int] = Counter()
        self.reasons: dict[str, None] = {}
        self.ready = self.dropped = False
        self.fatal = ""
        self.requests = self.answers = self.troubles = self.gaps = self.bad = 0
        self.last = self.untold = 0
        self.used: Used | None = None
        self.breach: Breach | None = None

    def add(self, line: bytes) -> None:
        fact = _parsed(line)
        handle = getattr(self, f"on_{fact['event'].replace('-', '_')}", None) if fact is not None else None
        if fact is None or handle is None:
            self.bad += 1
            return
        if fact["seq"] <= self.last:
            return  # it is read a second time
        self.gaps += max(0, fact["seq"] - self.last - 1)
        self.last = fact["seq"]
        handle(fact)

    def on_ready(self, fact: Mapping[str, Any]) -> None:
        self.ready = True

    def on_fetch_dropped(self, fact: Mapping[str, Any]) -> None:
        self.dropped = True

    def on_setup_closed(self, fact: Mapping[str, Any]) -> None:
        """Known, and of no consequence for what is told."""

    def on_fatal(self, fact: Mapping[str, Any]) -> None:
        self.fatal = self.fatal or _text(fact, "words") or "the egress ended"

    def on_trouble(self, fact: Mapping[str, Any]) -> None:
        self.troubles += 1

    def on_verdict(self, fact: Mapping[str, Any]) -> None:
        listener, host = _text(fact, "listener"), _text(fact, "host")
        if fact.get("allowed") is True:
            counting = _text(fact, "path").partition("?")[0].endswith("/count_tokens")
            self.requests += listener == "model" and not counting
        elif listener == "git":
            self.reasons[_text(fact, "reason")] = None
        else:
            path = _text(fact, "path").partition("?")[0] if listener == "model" else ""
            self.blocked[f"{host}{path}"] += 1

    def on_answer(self, fact: Mapping[str, Any]) -> None:
        status = fact.get("status")
        if fact.get("listener") == "model" and type(status) is int:
            self.statuses[status] += 1
            whole = fact.get("complete") is True and 200 <= status < 300
            used = _used(fact.get("usage"))
            self.answers += whole
            self.untold += whole and used is None
            if used is not None:
                before = self.used or Used()
                self.used = Used(*(getattr(before, name) + getattr(used, name) for name in _FIGURES))

    def on_breach(self, fact: Mapping[str, Any]) -> None:
        of, limit = _text(fact, "of"), fact.get("limit")
        if self.breach is None and of in BOUNDS and isinstance(limit, int | float) and 0 < limit < 2**53:
            self.breach = Breach(of, limit)

    def on_more(self, fact: Mapping[str, Any]) -> None:
        """Verdicts beyond the bound on lines, counted by host: each line replaces the one before."""
        count = fact.get("count")
        if type(count) is int and fact.get("of") == "verdict" and (host := _text(fact, "host")):
            self.counted[host] = max(count, self.counted.get(host, 0))

    def report(self) -> Report:
        return Report(
            ready=self.ready,
            fetch_dropped=self.dropped,
            fatal=self.fatal,
            blocked=_summed(self.blocked + Counter(self.counted)),
            fetch_refused=tuple(list(self.reasons)[:MAX_BLOCKED]),
            model_requests=self.requests,
            model_answers=self.answers,
            model_statuses=tuple(sorted(self.statuses.items())),
            used=self.used,
            untold=self.untold,
            breach=self.breach,
            troubles=self.troubles,
            gaps=self.gaps,
            bad_lines=self.bad,
        )


def _parsed(line: bytes) -> dict[str, Any] | None:
    """A journal line, or None for anything else."""
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        fact = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fact, dict) or not isinstance(fact.get("event"), str):
        return None
    seq = fact.get("seq")
    return fact if type(seq) is int and 0 < seq < 2**53 else None


def _used(given: Any) -> Used | None:
    figures = [given.get(name) for name in _FIGURES] if isinstance(given, dict) else [None]
    return Used(*figures) if all(type(count) is int and 0 <= count < MAX_TOKENS for count in figures) else None


def _text(fact: Mapping[str, Any], key: str) -> str:
    value = fact.get(key)
    return value[:512] if isinstance(value, str) else ""


def _summed(blocked: Counter[str]) -> tuple[Blocked, ...]:
    first, rest = blocked.most_common(MAX_BLOCKED), sum(blocked.values())
    told = [Blocked(host=host, count=count) for host, count in first]
    if left := rest - sum(count for _, count in first):
        told.append(Blocked(host=OTHERS, count=left))
    return tuple(told)
