"""The comment that ends a task: what became of it, the agent's words, the diff, the figures. Pure.

Everything else is of bounded length and built first; the diff gets the room that is left. The headline
and the verdict at the end are ours; between them the agent's text stands only inside blocks that it cannot end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot import inert, shown_diff
from bot.inert import Untrusted
from bot.shown_diff import ShownDiff
from bot.verdict_words import Verdict, counted, duration, verdict
from sandbox import Outcome, State, Usage

__all__ = ["MAX_COMMENT", "bare", "duration", "marked", "marker", "result"]

MAX_COMMENT = 65_536
"""GitHub's limit for a comment. It counts characters; we count UTF-16 units, of which there are never fewer."""

REPLY_ROOM = 12_000
"""Units for the agent's final words."""

ERROR_ROOM = 3_000
"""Units for the error: the runner keeps 2,000 characters of it."""

NOTES_ROOM = 3_000
"""Units for the notes on the changes and on the run."""

MAX_NAMES = 15
"""Files or hosts named in one list; the rest is counted."""

NAME_ROOM = 160
"""Units for each of them."""

_NAMES_ROOM = MAX_NAMES * (NAME_ROOM + len("`` `` , …")) + 40
"""Units for one such list."""

_SENTENCES_ROOM = 1_200
"""Units for what is said about a diff, names apart, and for the blank lines around."""

_TASK_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KIND = re.compile(r"[a-z-]{1,32}")


def marker(task_id: str, kind: str) -> str:
    """The line by which our comment is found again. No text of an agent can hold it: ``bot.inert`` sees to that."""
    if not _TASK_ID.fullmatch(task_id) or not _KIND.fullmatch(kind):
        raise ValueError("a marker is made of a task's id and a kind in small letters")
    return f"<!-- gofer:{task_id}:{kind} -->"


def marked(body: str, task_id: str, kind: str) -> str:
    """``body`` with the marker as its last line."""
    return f"{body}\n\n{marker(task_id, kind)}"


def result(task_id: str, outcome: Outcome, kind: str = "result", *, note: str = "", details: Sequence[str] = ()) -> str:
    """The whole comment, marker included, of at most ``MAX_COMMENT`` units.

    ``note`` and ``details`` are ours, and short: why it is no pull request, what the agent was not told.
    """
    said = verdict(outcome)
    before = [said.headline, *([note] if note else []), *_error(outcome), *_reply(outcome)]
    after = [*notes_of(outcome), figures(outcome), *details, _ending(task_id, said)]
    used = inert.units(marked("\n\n".join([*before, *after]), task_id, kind))
    parts = [*before, *_diff(task_id, outcome, MAX_COMMENT - used), *after]
    return marked("\n\n".join(parts), task_id, kind)


NOT_TAKEN = "GitHub did not take the whole comment: the agent's words and the diff are not shown here."


def bare(task_id: str, outcome: Outcome, kind: str = "result", *, note: str = NOT_TAKEN) -> str:
    """The same without a word that is not ours: for where the whole one is not taken, or must not be shown."""
    said = verdict(outcome)
    kept = [_whole(task_id)] if outcome.changes and outcome.changes.patch else []
    return marked("\n\n".join([said.headline, note, *kept, figures(outcome), _ending(task_id, said)]), task_id, kind)


def _whole(task_id: str) -> str:
    return f"The whole patch, byte for byte: `gofer patch {task_id}`."


def _ending(task_id: str, said: Verdict) -> str:
    advice = f" {said.advice}" if said.advice else ""
    return f"**Verdict: {said.word}.**{advice} Task `{task_id}`."


def _error(outcome: Outcome) -> list[str]:
    text = Untrusted(outcome.error)
    return ["What was reported:", inert.quote(text, ERROR_ROOM).text] if text else []


def _reply(outcome: Outcome) -> list[str]:
    text = Untrusted(outcome.reply)
    if not text:
        return []
    block = inert.quote(text, REPLY_ROOM)
    return ["The agent's own words" + (", cut:" if block.cut else ":"), block.text]


def _diff(task_id: str, outcome: Outcome, room: int) -> list[str]:
    """The diff and what must be said of it, in ``room`` units; what is said takes its room first."""
    changes = outcome.changes
    if changes is None or changes.patch is None:
        return []
    if not changes.patch:
        return [] if outcome.state is State.SUCCEEDED else ["It had changed nothing."]
    whole = _whole(task_id)
    title = "Changes:" if outcome.state is State.SUCCEEDED else "What it had changed until then, not finished:"
    room -= inert.units(title + whole) + _SENTENCES_ROOM
    shown = shown_diff.show(changes.patch, room)
    if shown.left_out:
        shown = shown_diff.show(changes.patch, room - _NAMES_ROOM)
    parts = [title, shown.block.text] if shown.block.text else []
    return [*parts, "\n".join(f"- {line}" for line in [*_told(shown), whole])]


def _told(shown: ShownDiff) -> list[str]:
    lines = []
    if shown.left_out:
        count = counted(len(shown.left_out), "file")
        lines.append(f"Not shown, for want of room: {count} of {shown.files:,}: {_named(shown.left_out)}.")
    if shown.binary:
        lines.append(f"Of {counted(shown.binary, 'binary file')} only the fact is shown.")
    if shown.block.line_ends:
        lines.append(f"Lines that end in CRLF, shown without the CR: {shown.block.line_ends:,}.")
    if shown.block.escaped:
        places = counted(shown.block.escaped, "place")
        lines.append(
            f"⚠️ In {places} the diff holds characters that cannot be seen or would not be safe to post; "
            "they are written out as `<U+…>`."
        )
    return lines


def notes_of(outcome: Outcome) -> list[str]:
    """What a reviewer should know beside the diff."""
    return [*_changes_notes(outcome), *_notes(outcome), *_blocked(outcome)]


def _changes_notes(outcome: Outcome) -> list[str]:
    changes = outcome.changes
    if changes is None:
        return []
    parts = []
    if changes.refusal:
        parts += ["Why there is no patch:", inert.quote(Untrusted(changes.refusal), ERROR_ROOM).text]
    if changes.ignored_count:
        count = counted(changes.ignored_count, "new file is ignored", "new files are ignored")
        examples = ", ".join(_name(Untrusted(name)) for name in changes.ignored_examples[:MAX_NAMES])
        named = f", such as {examples}" if examples else ""
        parts.append(f"{count} by the repository's `.gitignore` and not in the diff{named}.")
    return parts


def _notes(outcome: Outcome) -> list[str]:
    notes = [*(outcome.changes.notes if outcome.changes else ()), *outcome.notes]
    if not notes:
        return []
    return ["To be noted:", inert.quote(Untrusted("\n".join(f"- {note}" for note in notes)), NOTES_ROOM).text]


def _blocked(outcome: Outcome) -> list[str]:
    if not outcome.blocked:
        return []
    hosts = [f"{_name(Untrusted(entry.host))} ({entry.count:,}×)" for entry in outcome.blocked[:MAX_NAMES]]
    more = len(outcome.blocked) - len(hosts)
    rest = f" and {counted(more, 'more host')}" if more else ""
    total = sum(entry.count for entry in outcome.blocked)
    return [
        f"{counted(total, 'request was', 'requests were')} refused at the sandbox's border: {', '.join(hosts)}{rest}."
    ]


def figures(outcome: Outcome) -> str:
    """The table of what it took."""
    changes, usage = outcome.changes, outcome.usage
    rows = [
        ("Duration", duration(outcome.duration_seconds)),
        ("Turns", _number(usage.turns)),
        ("Tokens", _tokens(usage, outcome.metered)),
        ("Cost", _cost(usage, outcome.metered)),
        ("Files changed", "unknown" if changes is None else f"{len(changes.files):,}"),
        ("New files ignored", "unknown" if changes is None else f"{changes.ignored_count:,}"),
        ("Requests refused", f"{sum(entry.count for entry in outcome.blocked):,}"),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _tokens(said: Usage, metered: Usage) -> str:
    """As the agent says; where it says nothing, as they were counted on the way to the model."""
    if own := _counts(said):
        return own
    counted_for_it = _counts(metered)
    return f"{counted_for_it}, counted on the way to the model" if counted_for_it else "unknown"


def _counts(usage: Usage) -> str:
    kinds = [(usage.input_tokens, "in"), (usage.cached_input_tokens, "cached"), (usage.output_tokens, "out")]
    return ", ".join(f"{number:,} {kind}" for number, kind in kinds if number is not None)


def _cost(said: Usage, metered: Usage) -> str:
    """What is no more than an estimate is called one."""
    if said.cost_usd is not None and not said.cost_is_estimate:
        return f"${said.cost_usd:,.4f}, as the agent counts it"
    guess = said.cost_usd if said.cost_usd is not None else metered.cost_usd
    return "unknown" if guess is None else f"about ${guess:,.4f}, by a table of prices"


def _number(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _named(files: tuple[Untrusted, ...]) -> str:
    shown = ", ".join(map(_name, files[:MAX_NAMES]))
    more = len(files) - MAX_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _name(text: Untrusted) -> str:
    return inert.inline(text, NAME_ROOM)
