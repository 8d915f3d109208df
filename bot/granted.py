"""What the App may do, held against what this bot needs (app.yml). Pure.

Too little is told: what cannot be done then, and who mends it. Too much is refused: a key that can do what no code here
ever asks for helps a thief only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bot.github_installations import (
    TO_ASK,
    TO_CHECK,
    TO_FETCH,
    TO_PUBLISH,
    TO_READ,
    TO_WRITE_ISSUES,
    TO_WRITE_PULL_REQUESTS,
)
from bot.triggers import ALWAYS_SENT, TRIGGERS

LEVELS = ("", "read", "write", "admin")


def _union(*purposes: Mapping[str, str]) -> dict[str, str]:
    """The highest level of each permission."""
    found: dict[str, str] = {}
    for purpose in purposes:
        for name, level in purpose.items():
            found[name] = max(level, found.get(name, ""), key=LEVELS.index)
    return found


NEEDED: Final = _union(TO_ASK, TO_FETCH, TO_READ, TO_WRITE_ISSUES, TO_WRITE_PULL_REQUESTS, TO_PUBLISH)
"""Without one of these tasks fail."""
OPTIONAL: Final = {name: level for name, level in TO_CHECK.items() if name not in NEEDED}
"""Without one of these a feature is off."""
EVENTS: Final = frozenset(TRIGGERS) - ALWAYS_SENT
# By permission or event, what is not to be had without it.
_WITHOUT: Final = {
    "checks": "check runs on pull requests are off, and CI that is held is not seen",
    "check_run": "the buttons of check runs do nothing",
    "issue_comment": "commands in comments are not heard",
    "issues": "labels on issues start nothing",
    "pull_request": "labels on pull requests start nothing",
    "pull_request_review": "reviews are not answered",
    "pull_request_review_comment": "commands in comments on lines are not heard",
    "repository": "tasks go on in a repository that was archived or made public",
}


@dataclass(frozen=True)
class Gaps:
    """``lacking`` and ``off`` are sentences' parts for the log, ``broader`` names permissions with their level."""

    lacking: tuple[str, ...] = ()
    """Needed and not there: ``issues: write``."""
    off: tuple[str, ...] = ()
    """What is done without, with what that means."""
    broader: tuple[str, ...] = ()
    """There, and never asked for."""

    @property
    def checks(self) -> bool:
        """Whether check runs can be made."""
        return not any(one.startswith("checks:") for one in self.off)


def compare(permissions: Mapping[str, str], events: Iterable[str] | None = None) -> Gaps:
    """``events`` None: not looked at."""
    wanted = NEEDED | OPTIONAL
    unheard = sorted(EVENTS - frozenset(events)) if events is not None else []
    return Gaps(
        lacking=tuple(f"{name}: {level}" for name, level in sorted(NEEDED.items()) if _under(permissions, name, level)),
        off=(
            *(f"{n}: {OPTIONAL[n]} ({_WITHOUT[n]})" for n in OPTIONAL if _under(permissions, n, OPTIONAL[n])),
            *(f"event {name} ({_WITHOUT.get(name, 'it is not heard of')})" for name in unheard),
        ),
        broader=tuple(
            f"{name}: {level}"
            for name, level in sorted(permissions.items())
            if _rank(level) > LEVELS.index(wanted.get(name, ""))
        ),
    )


def _under(permissions: Mapping[str, str], name: str, level: str) -> bool:
    return _rank(permissions.get(name, "")) < LEVELS.index(level)


def _rank(level: str) -> int:
    """A word that is not known counts as more than any: it must not pass for little."""
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def too_broad(gaps: Gaps) -> str:
    """Why the start is refused, and what to do. Empty where it is not."""
    if not gaps.broader:
        return ""
    return (
        f"the GitHub App has permissions that Gofer never uses ({', '.join(gaps.broader)}): take them away in the "
        "App's settings, as app.yml has it, or set GOFER_BROADER_APP=true if another program needs them"
    )


def warnings(gaps: Gaps, whose: str = "the GitHub App") -> list[str]:
    """A line each for the operator's log."""
    said = [f"{whose} lacks {one}: tasks will fail; accept it as app.yml has it" for one in gaps.lacking]
    return [*said, *(f"{whose} has no {one}" for one in gaps.off)]
