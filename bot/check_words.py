"""What our check run on a pull request says, how it concludes, and its buttons. Pure.

The title is ours alone. The summary is made of the result's comment, where the agent's text is inert already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot import inert
from bot.github_checks import MAX_SUMMARY_CHARS, Conclusion
from bot.github_values import CheckAction
from bot.inert import Untrusted
from bot.result_comment import figures
from bot.tasks import Ending
from bot.triggers.check_run import AGAIN, CANCEL
from bot.verdict_words import verdict
from sandbox import Outcome

# Units for the agent's final words, where the comment has the whole of them.
REPLY_ROOM = 4_000

STOP: Final = CheckAction(label="Cancel", description="Stop the tasks of this thread", identifier=CANCEL)
ONCE_MORE: Final = CheckAction(label="Run again", description="Do the same once more", identifier=AGAIN)

# A pull request is not to blame for what became of a task: only what somebody can act on is a failure.
_CONCLUSIONS: Final[Mapping[Ending, Conclusion]] = {
    "changed": "success",
    "no_change": "success",
    "failed": "failure",
    "timed_out": "timed_out",
    "cancelled": "cancelled",
    "lost": "failure",
    "refused": "neutral",
    "helped": "neutral",
    "undeliverable": "neutral",
}


@dataclass(frozen=True)
class CheckWords:
    """All that is shown. ``conclusion`` None: it runs."""

    title: str
    summary: str
    conclusion: Conclusion | None
    actions: tuple[CheckAction, ...]


def conclusion_of(ending: Ending) -> Conclusion:
    """GitHub's word for how a task ended."""
    return _CONCLUSIONS[ending]


def running(task_id: str, body: str = "") -> CheckWords:
    """While it waits and works. ``body``: what the status comment would say, where there can be none."""
    said = body or f"An agent works on this commit in a sandbox. Task `{task_id}`."
    return CheckWords("Under way", _whole(said), None, (STOP,))


def ended(task_id: str, ending: Ending, outcome: Outcome | None, comment: str, *, posted: bool) -> CheckWords:
    """At the end. ``comment`` is the result's, which is shown whole where it could not be ``posted``."""
    title = _title(outcome)
    summary = _brief(task_id, outcome, comment) if posted else comment
    return CheckWords(title, _whole(summary), conclusion_of(ending), (ONCE_MORE,))


def dropped(task_id: str, words: str) -> CheckWords:
    """It comes to nothing, and no agent ran. ``words`` are ours."""
    return CheckWords("Not done", _whole(f"{words} Task `{task_id}`."), "neutral", (ONCE_MORE,))


def _title(outcome: Outcome | None) -> str:
    """The verdict's word: never the agent's."""
    word = verdict(outcome).word if outcome else "lost"
    return word[:1].upper() + word[1:]


def _brief(task_id: str, outcome: Outcome | None, comment: str) -> str:
    """The headline, the agent's words and the figures; the rest is in the conversation."""
    parts = [comment.split("\n\n", 1)[0]]
    if outcome is not None and outcome.reply.strip():
        block = inert.quote(Untrusted(outcome.reply), REPLY_ROOM)
        parts += ["The agent's own words" + (", cut:" if block.cut else ":"), block.text]
    if outcome is not None:
        parts.append(figures(outcome))
    return "\n\n".join([*parts, f"The whole result is in the conversation. Task `{task_id}`."])


def _whole(text: str) -> str:
    """Without the marker, which is for comments. What is too long was not made by ``result_comment``: not shown."""
    lines = text.split("\n")
    if lines[-1].startswith("<!-- gofer:"):
        text = "\n".join(lines[:-1]).rstrip()
    return text if inert.units(text) <= MAX_SUMMARY_CHARS else "The result is too long to be shown here; it is stored."
