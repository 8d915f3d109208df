"""Every sentence that a user can read on GitHub. Pure functions to Markdown; text that is not ours is rendered by
``bot.inert`` alone. The result of a task is long enough for a file of its own: ``bot.result_comment``.
"""

from __future__ import annotations

import re

from bot import inert
from bot.command_options import OPTIONS
from bot.commands import DEFAULT_WORD, VERBS
from bot.inert import Untrusted
from bot.permissions import Refusal
from bot.result_comment import duration, marked, marker, result
from bot.tasks import Mistake, Slip
from sandbox import Progress, Reason

__all__ = [
    "could_not_begin",
    "failed_to_prepare",
    "fetching",
    "help_text",
    "marked",
    "marker",
    "mistake_text",
    "queued",
    "refused",
    "result",
    "unreadable",
    "working",
]

ERROR_ROOM = 3_000
"""Units for words of git or of the engine: enough for a whole message, not for a log."""

PROGRESS_ROOM = 160
"""Units for each of the agent's own words on what it does now: one line in a narrow window."""


def queued(position: int, ahead: int) -> str:
    """``position`` in the queue, 1 being the next; ``ahead`` counts the tasks before it, running ones included."""
    if ahead <= 0:
        return "⏳ **Queued.** Next in line."
    tasks = "1 task is" if ahead == 1 else f"{ahead:,} tasks are"
    return f"⏳ **Queued**, number {position:,} in line. {tasks} ahead of it."


def fetching() -> str:
    """The sandbox is being made and the repository fetched into it."""
    return "📦 **Preparing.** Making the sandbox and fetching the repository into it."


def working(elapsed_seconds: float, progress: Progress) -> str:
    """The agent runs. What it says of itself is shown inert."""
    lines = [f"⚙️ **Working** for {duration(elapsed_seconds)}."]
    tool, file = Untrusted(progress.last_tool), Untrusted(progress.last_file)
    words = Untrusted(" ".join(progress.last_words.split()))
    if tool and file:
        lines.append(f"Last tool: {_short(tool)} on {_short(file)}")
    elif tool:
        lines.append(f"Last tool: {_short(tool)}")
    if words:
        lines.append(f"Its last words: {_short(words)}")
    return "\n\n".join(lines)


def refused(reason: Refusal) -> str:
    """Why nothing is done for this asker or here. For ``Decision.silent`` ones, a sentence for the log."""
    return {
        Refusal.NOT_SERVED: "This repository is not on the list of those that this bot works for.",
        Refusal.WRONG_INSTALLATION: "This repository does not belong to the installation that the request came from.",
        Refusal.NOT_A_USER: "This bot takes requests from people, not from programs.",
        Refusal.COULD_NOT_ASK: "🚫 **Not done.** GitHub did not say whether you may write to this repository, and then "
        "the answer is no. Please try again in a few minutes.",
        Refusal.UNKNOWN_ROLE: "🚫 **Not done.** Your role on this repository is none that this bot knows, and then the "
        "answer is no. Someone with the role write, maintain or admin can ask.",
        Refusal.NO_WRITE: "🚫 **Not done.** Only people who may push to this repository (write, maintain or admin) can "
        "ask for work here. Someone who may can write the command.",
    }[reason]


def failed_to_prepare(reason: Reason, words: str) -> str:
    """No sandbox could be made ready, so no agent ran. ``words`` are those of ``sandbox.PrepareFailed``."""
    said = {
        Reason.FETCH_FAILED: "❌ **Failed: the repository could not be fetched.** No agent ran. If the repository is "
        "private, see that the app is installed on it and may read its contents.",
        Reason.DISK_FULL: "❌ **Failed: the repository does not fit into the workspace.** No agent ran. The operator "
        "can raise the limit.",
        Reason.CANCELLED: "🛑 **Cancelled** before the agent started.",
    }.get(
        reason,
        "❌ **Failed: the sandbox could not be made ready.** No agent ran. Try again; if it stays so, ask the "
        "operator.",
    )
    return said + _quoted(words)


def could_not_begin(words: str) -> str:
    """Something of ours failed before a sandbox was asked for. ``words`` say what, in one sentence."""
    return "❌ **Failed before it began.** No agent ran. Try again; if it stays so, ask the operator." + _quoted(words)


def unreadable() -> str:
    """The outcome is not in the database, or is damaged there. Whether an agent ran is not known."""
    return (
        "❓ **Lost.** What became of this task cannot be read from the bot's database. "
        "Write the command again to start over; if it stays so, ask the operator."
    )


def mistake_text(mistake: Mistake, word: str = DEFAULT_WORD) -> str:
    """What was wrong with a text that aimed at us, and what to write instead."""
    found = inert.inline(Untrusted(mistake.found))
    # A verb is ours, but it came back with the request: shown only where it is one.
    nearest = mistake.nearest if re.fullmatch("[a-z]{1,20}", mistake.nearest) else "help"
    return (
        "😕 **Not done.** "
        + {
            Slip.EMPTY: f"There is nothing after `{word}`. Write what is to be done after it.",
            Slip.PLACE: f"I saw {found}, but a command must start a line of its own, outside lists, tables and "
            "headings, with a blank line between it and a list or quote above.",
            Slip.GLUED: f"Right after `{word}` I saw {found}. Put a space there.",
            Slip.OPTION: f"There is no option {found}. Did you mean `--{nearest}`? If it is a part of what is to be "
            f"done, write `{word} --` before it.",
            Slip.VALUE: f"I saw {found}, and that cannot be. {_usage(mistake.nearest)}",
            Slip.CONFLICT: f"{found} does not go together with what stands beside it.",
            Slip.TYPO: f"I do not know {found}. Did you mean `{word} {nearest}`? If it is what is to be "
            "done, use more words.",
            Slip.TOO_LONG: "The prompt is too long: at most 131,071 bytes are taken.",
        }[mistake.slip]
    )


def _usage(name: str) -> str:
    """How an option is written."""
    option = OPTIONS.get(name)
    if option is None:
        return ""
    return f"It is written `--{name}{f' {option.value}' if option.value else ''}`: {option.meaning}."


def help_text(word: str = DEFAULT_WORD, mistake: Mistake | None = None) -> str:
    """The commands; after a mistake only what was wrong, what was probably meant, and where to read on."""
    if mistake is not None:
        return f"{mistake_text(mistake, word)}\n\n`{word} help` shows all commands and options."
    lines = [f"- `{word} {usage}`: {meaning}" for usage, meaning in VERBS.values()]
    options = [f"- `--{name}{f' {one.value}' if one.value else ''}`: {one.meaning}" for name, one in OPTIONS.items()]
    rules = (
        "A command starts a line of its own. One command a comment: the first counts. It is taken from people who "
        "may push to this repository, in a new comment or in one whose author mends it within the hour: on an issue, a "
        "pull request, a line of one, or in a review. What the agent changes comes back as a diff, or with `--pr` as a "
        "pull request. A review of a pull request of mine that asks for changes is a command by itself."
    )
    return "\n".join(["**Commands**", "", *lines, "", "**Options**, before the prompt", "", *options, "", rules])


def _short(text: Untrusted) -> str:
    return inert.inline(text, PROGRESS_ROOM)


def _quoted(words: str) -> str:
    text = Untrusted(words)
    return f"\n\nWhat was reported:\n\n{inert.quote(text, ERROR_ROOM).text}" if text else ""
