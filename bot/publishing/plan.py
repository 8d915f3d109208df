"""Whether a result becomes a pull request, and on which branch. Pure: decided anew from what GitHub says now.

Never the default branch, never a protected one, never force. Where the place that was meant is not to be had (moved,
merged, closed, deleted, protected, somebody else's), the result goes to a branch of its own, and that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.github import PullInfo, RepositoryInfo
from bot.github_publishing import MAX_BLOBS
from bot.protected import protected, unpublishable
from bot.repo_rules import Choice
from bot.tasks import Request
from bot.threads import Head
from bot.work import Aim, Pull
from sandbox import ChangedFile, Outcome, State

PREFIX = "agent/"
"""Of every branch that this bot makes; what follows is its own numbers, and never anybody's text."""


class Why(StrEnum):
    """Why it is a diff, or not where it was meant to be. ``bot.publishing.words`` has the sentences."""

    ASKED = "asked"
    """A diff is what was asked for."""
    NOT_DONE = "not_done"
    """The task did not succeed: what it changed is shown, and no more."""
    NO_CHANGE = "no_change"
    FORK = "fork"
    """The pull request comes from a fork, where this bot may not write."""
    PROTECTED = "protected"
    UNPUBLISHABLE = "unpublishable"
    BINARIES = "binaries"
    ARCHIVED = "archived"
    NO_BASE = "no_base"
    MOVED = "moved"
    """Somebody has pushed to the branch meanwhile."""
    MERGED = "merged"
    CLOSED = "closed"
    DELETED = "deleted"
    """The branch is not there any more."""
    RULED = "ruled"
    """A rule of the repository keeps the App from writing the branch."""
    NOT_THEIRS = "not_theirs"
    """Somebody else's pull request: nobody's branch is written to but by his own wish."""
    NONE = ""


@dataclass(frozen=True)
class Facts:
    """What GitHub says right before. ``target`` is what the branch that would be written to is at, None: gone."""

    repository: RepositoryInfo
    pull: PullInfo | None = None
    """The thread's own, where it is a pull request; else the one that we opened for it."""
    ours: Pull | None = None
    """Our row of that pull request, if it is one of ours."""
    target: str | None = None
    may_push: bool = True
    base_there: bool = True


@dataclass(frozen=True)
class Diff:
    """Nothing goes into the repository. ``paths`` are what ``why`` is about."""

    why: Why
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Push:
    """A commit on ``parent``, and a branch at it. ``pull`` is the open pull request that shows it; None: open one."""

    branch: str
    parent: str
    expected: str | None
    """What the branch must be at; None: it is made."""
    base: str
    pull: int | None = None
    aside: Why = Why.NONE
    """Why it is not where it was meant to be."""


def aimed(aim: Aim) -> Push:
    """What was decided before."""
    return Push(aim.branch, aim.parent, aim.expected, aim.base, aim.pull, Why(aim.aside))


def own_branch(request: Request, task_id: str) -> str:
    return f"{PREFIX}{request.thread}-{task_id}"


def plan(
    request: Request,
    task_id: str,
    choice: Choice,
    outcome: Outcome,
    head: Head | None,
    facts: Facts,
    extra: Sequence[str],
) -> Diff | Push:
    """``head`` is the pull request's as it was worked on; ``extra`` are the repository's own protected paths."""
    changes = outcome.changes
    if outcome.state is not State.SUCCEEDED or changes is None or changes.patch is None:
        return Diff(Why.NOT_DONE)
    if not changes.patch:
        return Diff(Why.NO_CHANGE)
    if _wants_diff(choice, facts):
        return Diff(Why.ASKED)
    if (refused := _cannot(changes.files, facts, extra)) is not None:
        return refused
    base = choice.base or facts.repository.default_branch
    fresh = Push(own_branch(request, task_id), head.sha if head else changes.base_commit, None, base)
    return _of_pull(request, head, facts, fresh) if head is not None else _of_issue(facts, fresh)


def _wants_diff(choice: Choice, facts: Facts) -> bool:
    """Work on a pull request of ours goes into it: nobody asks for a review to be answered by a diff."""
    return choice.result == "diff" and not (facts.ours is not None and facts.pull is not None)


def _cannot(files: Sequence[ChangedFile], facts: Facts, extra: Sequence[str]) -> Diff | None:
    if facts.repository.archived:
        return Diff(Why.ARCHIVED)
    if bad := unpublishable(files):
        return Diff(Why.UNPUBLISHABLE, tuple(f"{path}: {why}" for path, why in bad))
    if kept := protected(files, extra):
        return Diff(Why.PROTECTED, kept)
    if sum(binary(file) for file in files) > MAX_BLOBS:
        return Diff(Why.BINARIES)
    if not facts.base_there:
        return Diff(Why.NO_BASE)
    return None


def binary(file: ChangedFile) -> bool:
    """Whether its content travels as a blob of its own: JSON carries text only."""
    if file.content is None:
        return False
    try:
        return "\x00" in file.content.decode("utf-8")
    except UnicodeDecodeError:
        return True


def _of_issue(facts: Facts, fresh: Push) -> Push:
    """One live pull request a thread: an open one of ours is updated, where nobody else has written to it."""
    ours, pull = facts.ours, facts.pull
    if ours is None or pull is None or pull.state == "closed":
        return fresh
    if facts.target is None:
        return _aside(fresh, Why.DELETED)
    if facts.target != ours.sha or fresh.parent != ours.sha:
        return _aside(fresh, Why.MOVED)
    return Push(ours.branch, ours.sha, ours.sha, pull.head.base_ref, pull.number)


def _of_pull(request: Request, head: Head, facts: Facts, fresh: Push) -> Diff | Push:
    pull = facts.pull
    if head.repository_id != facts.repository.id:
        return Diff(Why.FORK)
    onto_base = Push(fresh.branch, head.sha, None, head.base_ref)
    if pull is None or pull.merged or pull.state == "closed":
        return _aside(onto_base, Why.MERGED if pull is not None and pull.merged else Why.CLOSED)
    stacked = Push(fresh.branch, head.sha, None, head.ref)
    if facts.target is None:
        return _aside(onto_base, Why.DELETED)
    theirs = facts.ours is None and not (head.author is not None and head.author.id == request.sender.id)
    if theirs:
        return _aside(stacked, Why.NOT_THEIRS)
    if facts.target != head.sha:
        return _aside(stacked, Why.MOVED)
    if head.ref == facts.repository.default_branch or not facts.may_push:
        return _aside(stacked, Why.RULED)
    return Push(head.ref, head.sha, head.sha, head.base_ref, pull.number)


def _aside(push: Push, why: Why) -> Push:
    return Push(push.branch, push.parent, push.expected, push.base, push.pull, why)
