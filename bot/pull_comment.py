"""The comment that ends a task whose result is a pull request. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot import inert
from bot.inert import Untrusted
from bot.publishing.perform import Published
from bot.result_comment import figures, marked, notes_of
from bot.verdict_words import counted
from sandbox import Outcome

REPLY_ROOM = 12_000
"""Units for the agent's final words."""


def opened(
    task_id: str, outcome: Outcome, published: Published, kind: str = "result", *, note: str, details: Sequence[str]
) -> str:
    """What was opened or updated, what to know, the agent's words, the figures."""
    files = counted(len(outcome.changes.files) if outcome.changes else 0, "file")
    pull = published.pull
    what = "draft pull request" if pull.draft else "pull request"
    verb = "Pushed to" if published.updated else "Opened"
    headline = f"✅ **{verb} the {what} #{pull.number}** with {files} changed on `{published.branch}`."
    parts = [headline, *([note] if note else [])]
    if outcome.reply.strip():
        block = inert.quote(Untrusted(outcome.reply), REPLY_ROOM)
        parts += ["The agent's own words" + (", cut:" if block.cut else ":"), block.text]
    parts += [
        *notes_of(outcome),
        figures(outcome),
        *details,
        f"**Verdict: a person has to review it.** Task `{task_id}`.",
    ]
    return marked("\n\n".join(parts), task_id, kind)
