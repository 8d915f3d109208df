"""What is said of a result that is a pull request, or is none although one was wanted. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from bot import inert
from bot.inert import Untrusted
from bot.publishing.plan import Why

# Paths named in a list; the rest is counted.
MAX_NAMES = 15
NAME_ROOM = 160

_DIFF: Mapping[Why, str] = {
    Why.ASKED: "",
    Why.NOT_DONE: "",
    Why.NO_CHANGE: "",
    Why.FORK: "This pull request comes from a fork, where I may not write. To take the changes, apply the patch on its "
    "branch: `gofer patch TASK | git apply`.",
    Why.PROTECTED: "⚠️ **No pull request:** the changes touch files that a pull request of mine never holds, because "
    "CI, hooks or other agents act on them. Look at the diff, and take them by hand if they are right.",
    Why.UNPUBLISHABLE: "⚠️ **No pull request:** not every change can be brought into a commit through GitHub's API.",
    Why.BINARIES: "⚠️ **No pull request:** there are more changed binary files than one commit may have.",
    Why.ARCHIVED: "⚠️ **No pull request:** this repository is archived.",
    Why.NO_BASE: "⚠️ **No pull request:** the branch that it was to be for is not there.",
}

_ASIDE: Mapping[Why, str] = {
    Why.NONE: "",
    Why.MOVED: "Somebody has pushed to the branch meanwhile. I have not touched it: the work is on one of its own.",
    Why.MERGED: "The pull request was merged meanwhile, so the work is on a branch of its own.",
    Why.CLOSED: "The pull request was closed meanwhile, so the work is on a branch of its own.",
    Why.DELETED: "The branch is not there any more, so the work is on one of its own.",
    Why.RULED: "The repository's rules keep me from writing that branch, so the work is on one of its own.",
    Why.NOT_THEIRS: "I write to nobody's branch but by his own wish, so the work is on one of its own.",
}

# GitHub's words -> what they mean here, and who can do something about it.
_REFUSALS: tuple[tuple[str, str], ...] = (
    ("without `workflows`", "GitHub does not let me change workflow files, and an older base counts as changing them: "
     "bring the base branch up to date, or take the diff by hand."),
    ("gh006", "The branch is protected."),
    ("gh013", "A rule of the repository does not allow it."),
    ("rule", "A rule of the repository does not allow it."),
    ("archived", "This repository is archived."),
    ("no commits between", "The branch has nothing that its base has not."),
    ("locked", "The conversation is locked."),
    ("not accessible by integration", "The app lacks the permission: its owner must accept what it asks for."),
    ("too many", "GitHub asks me to slow down."),
    ("suspended", "The app's installation is suspended."),
)  # fmt: skip


def diff_note(why: Why, paths: tuple[str, ...], task_id: str) -> str:
    """Why it is a diff; empty where that is what was asked for."""
    text = _DIFF[why].replace("TASK", task_id)
    if not paths:
        return text
    named = "\n".join(f"- {inert.inline(Untrusted(path), NAME_ROOM)}" for path in paths[:MAX_NAMES])
    more = f"\n- and {len(paths) - MAX_NAMES:,} more" if len(paths) > MAX_NAMES else ""
    return f"{text}\n\n{named}{more}"


def aside_note(why: Why) -> str:
    """Why it is not where it was meant to be; empty where it is."""
    return _ASIDE[why]


def refusal_note(status: int, words: str, word: str) -> str:
    """GitHub has refused. The result is stored; ``word`` is the command word."""
    lower = words.lower()
    meaning = next((said for mark, said in _REFUSALS if mark in lower), "")
    meaning = meaning or {401: "The app's credentials are not accepted.", 404: "The app has no access any more."}.get(
        status, "GitHub does not take it."
    )
    quoted = inert.inline(Untrusted(words), 300)
    return f"⚠️ **No pull request.** {meaning} GitHub said: {quoted}. The result is kept: `{word} retry` tries again."
