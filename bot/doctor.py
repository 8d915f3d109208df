"""``gofer doctor``: says what is well, what is not, and what to do. Exit status 0 where nothing has failed, else 1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from bot.config import ConfigError, for_run
from sandbox import Finding, Health, Unreachable, examine

HEALTHY: Final = 0
FAILED: Final = 1
_MARKS: Final = {Health.OK: "ok", Health.WARNING: "warning", Health.FAILED: "FAILED"}
# The longest mark, and the longest subject that is common.
_MARK_CHARS: Final = 8
_SUBJECT_CHARS: Final = 18


def command(*, offline: bool) -> int:
    """``offline``: neither a model nor a destination is asked. Raises ``ConfigError``."""
    config = for_run()
    if config.is_remote:
        raise ConfigError("gofer doctor looks at the machine on which sandboxes run: start it there")
    return asyncio.run(tell(examine(config.sandbox_settings(), offline=offline), print))


async def tell(findings: AsyncIterator[Finding], say: Callable[[str], None]) -> int:
    """Each finding as soon as it is there, then the sum."""
    counts = dict.fromkeys(Health, 0)
    try:
        async for finding in findings:
            counts[finding.health] += 1
            for line in lines(finding):
                say(line)
    except Unreachable as error:
        counts[Health.FAILED] += 1
        say(f"{_MARKS[Health.FAILED]:<{_MARK_CHARS}}{'engine':<{_SUBJECT_CHARS}}it went away: {error}")
    say(total(counts))
    return FAILED if counts[Health.FAILED] else HEALTHY


def lines(finding: Finding) -> list[str]:
    """One for what was found, one more for what to do."""
    first = f"{_MARKS[finding.health]:<{_MARK_CHARS}}{finding.subject:<{_SUBJECT_CHARS}}{finding.words}"
    return [first, *([f"{'':<{_MARK_CHARS + _SUBJECT_CHARS}}to do: {finding.remedy}"] if finding.remedy else [])]


def total(counts: dict[Health, int]) -> str:
    """The last line."""
    if counts[Health.FAILED]:
        return f"{counts[Health.FAILED]} failed, {counts[Health.WARNING]} to look at: tasks cannot be trusted to work."
    if counts[Health.WARNING]:
        return f"Nothing has failed; {counts[Health.WARNING]} to look at."
    return "All is well."
