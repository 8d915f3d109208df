"""What is answered to commands that run nothing, and to tasks that may not begin. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot import inert
from bot.head_then import How
from bot.inert import Untrusted
from bot.verdict_words import duration

# Tasks in one answer; the rest is counted.
MAX_TASKS = 10
PROMPT_ROOM = 80
MISTAKE_ROOM = 3_000


@dataclass(frozen=True)
class Line:
    """One task of a thread, for ``status``. ``url`` is of its status comment."""

    task_id: str
    state: str
    prompt: str
    seconds: float
    url: str = ""


def status(lines: Sequence[Line]) -> str:
    """What is under way and waiting on the thread."""
    if not lines:
        return "💤 Nothing is under way on this thread."
    rows = [f"- {_task(line)}" for line in lines[:MAX_TASKS]]
    more = [f"- and {len(lines) - MAX_TASKS:,} more"] if len(lines) > MAX_TASKS else []
    return "\n".join(["**On this thread**", "", *rows, *more])


def _task(line: Line) -> str:
    name = f"[{line.state}]({line.url})" if line.url else line.state
    said = inert.inline(Untrusted(" ".join(line.prompt.split())), PROMPT_ROOM)
    return f"{name} for {duration(line.seconds)}: {said} (task `{line.task_id}`)"


def cancelling(count: int) -> str:
    """``cancel`` was written."""
    if not count:
        return "💤 There is nothing to cancel on this thread."
    what = "the task" if count == 1 else f"{count:,} tasks"
    return f"🛑 Stopping {what} of this thread; what is done until then is shown."


def nothing_to_repeat() -> str:
    return "💤 There is no earlier task on this thread."


def nothing_to_show() -> str:
    return "💤 There is no stored result on this thread that changes anything."


def already(url: str, task_id: str) -> str:
    """The same was asked for and is not done yet."""
    where = f"[It is under way]({url})" if url else "It is under way"
    return f"♻️ **Not started twice.** {where} already, as task `{task_id}`."


def too_many(seconds: float, at: str, whose: str) -> str:
    """A limit on tasks an hour is reached; ``at`` is when there is room again."""
    return f"⏱️ **Not now.** {whose} in one hour. Try again at {at}, in {duration(seconds)}."


def not_allowed(words: str) -> str:
    """An option asks for what is not to be had here. ``words`` are ours, with names of a checked alphabet."""
    return f"😕 **Not done.** {words}"


BASE_OF_PULL = "A pull request has its own base: leave `--base` out here."


def no_branch(name: str) -> str:
    """``--base`` names what is not there."""
    return f"There is no branch {inert.inline(Untrusted(name), PROMPT_ROOM)} to base it on."


def config_mistake(path: str, words: str) -> str:
    """The repository's own file has a mistake; until it is mended nothing runs."""
    quoted = inert.quote(Untrusted(words), MISTAKE_ROOM).text
    return (
        f"🚫 **Not done.** `{path}` on the default branch has a mistake, and until it is mended nothing runs here:\n\n"
        f"{quoted}"
    )


def rounds_over(rounds: int) -> str:
    """A pull request has been worked on after reviews as often as the rules let it be."""
    times = "once" if rounds == 1 else f"{rounds:,} times"
    return (
        f"✋ **I stop here.** I have answered reviews of this pull request {times}, which is as often as I may. A "
        "person can go on from here, or ask by a command."
    )


def already_there(number: int) -> str:
    """``pr`` was written, and the last result is in an open pull request."""
    return f"♻️ **Not opened twice.** The last result is in #{number}, which is open."


def is_in(number: int) -> str:
    """The result was brought into a pull request that cannot be looked at now."""
    return f"The result is in #{number}."


def permission_lost(login: str, word: str) -> str:
    """Between the command and the result the asker's right to push was taken away."""
    who = inert.inline(Untrusted(login), PROMPT_ROOM)
    return (
        f"⚠️ **Nothing was pushed.** {who}, who asked for it, may not ask for work here any more. The result is kept: "
        f"somebody who may can write `{word} retry`."
    )


MADE_PUBLIC = (
    "The repository was made public meanwhile. What was asked for among a few is not shown to everybody: the agent's "
    "words and the diff are kept, and not posted."
)


def went_on_from(task_id: str) -> str:
    """The earlier result that the agent has gone on from."""
    return f"It goes on from the result of task `{task_id}`."


def began_without(task_id: str) -> str:
    """The earlier result does not fit the repository as it is now."""
    return f"⚠️ The result of task `{task_id}` does not fit the repository any more, so the agent began without it."


def ci_held(number: int, sha: str) -> str:
    """GitHub runs the workflows of a pull request of ours only once somebody has approved them."""
    return (
        f"⏸️ **CI of #{number} waits for a maintainer's approval.** GitHub holds the workflows of `{sha[:12]}` back "
        "until somebody who may write lets them run, on the pull request's page."
    )


def moved_too_often() -> str:
    """Since the comment the pull request's branch has moved, and GitHub does not say from where."""
    return (
        "🔁 **Not started.** This pull request's branch was pushed to after your comment, and GitHub does not say "
        "which commit you saw. Look at it as it is now, and write the command again."
    )


def worked_on(how: How, sha: str) -> str:
    """Which commit of a pull request was worked on, where that is not simply its head. Empty where it is."""
    if how == "earlier":
        return (
            f"The branch was pushed to after the comment, or in the very same second. The work is on `{sha[:12]}`, the "
            "head before that."
        )
    if how == "undated":
        return (
            f"The work is on `{sha[:12]}`, the head when the task was let in. GitHub could not say whether it was "
            "pushed before the comment or after it."
        )
    return ""


def left_out(lines: Sequence[str]) -> str:
    """For the status comment: what the agent is not told, folded away."""
    if not lines:
        return ""
    listed = "\n".join(f"- {line}" for line in lines)
    return f"<details><summary>What the agent was not told</summary>\n\n{listed}\n\n</details>"


def ignored(lines: Sequence[str]) -> str:
    """Further commands of the same comment."""
    if not lines:
        return ""
    named = ", ".join(inert.inline(Untrusted(line), PROMPT_ROOM) for line in lines)
    return f"One command a comment: not carried out {'was' if len(lines) == 1 else 'were'} {named}."
