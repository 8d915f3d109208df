"""What a task has decided and done beside its state: kept in its row, so that it goes on after a crash. Pure values."""

from __future__ import annotations

from bot.attachments import Picture
from bot.head_then import How
from bot.repo_rules import Choice
from bot.tasks import Command, Frozen, Request
from bot.threads import Head


class Aim(Frozen):
    """Where a result goes, as it was decided: see ``bot.publishing.plan.Push``."""

    branch: str
    parent: str
    expected: str | None
    base: str
    pull: int | None
    aside: str


class Work(Frozen):
    """Filled step by step; what is set is never decided anew. None and empty: not yet, or not for this task."""

    asked: Command | None = None
    """The command that counts: of a label or a review, and of what is retried, another than the request's."""
    choice: Choice | None = None
    """Agent, model, limits and kind of result, as the rules were when the task was admitted."""
    prompt: str = ""
    """What the agent is told, frozen."""
    left_out: tuple[str, ...] = ()
    """What it is not told, and why: a line each."""
    pictures: tuple[Picture, ...] = ()
    """Images of the thread that it is given."""
    threads: tuple[int, ...] = ()
    """First comments of the review threads to be answered, by their numbers in the prompt."""
    head: Head | None = None
    """Of the pull request that is worked on, at the commit that is pinned."""
    head_was: How = "now"
    """How that commit was found, where the request itself does not say."""
    thread_title: str = ""
    """As it was then: a pull request's title is made of it."""
    origin: Request | None = None
    """Of what is repeated: the request that began it. Its place, its review and its kind count again."""
    onto: str | None = None
    """The task whose stored patch is laid into the fresh checkout."""
    onto_unfit: bool = False
    """That patch did not fit any more, so the agent has begun without it."""
    refused: bool = False
    """The result was to go into the repository, and GitHub or a lost permission kept it out: ``retry`` tries again."""
    source_task: str | None = None
    """The task whose stored result this one goes on from, posts or turns into a pull request."""
    commit: str | None = None
    """Made by us for the result; no branch need be at it yet."""
    branch: str | None = None
    """Where it goes, without ``refs/heads/``."""
    aim: Aim | None = None
    """All that was decided when the commit was made: the branch that it has moved is no reason to decide anew."""
    pull: int | None = None
    """Number of the pull request that holds the result."""
    answered: tuple[int, ...] = ()
    """Of ``threads``, those that have our answer."""
    check_run_id: int | None = None
    label_removed: bool = False
    tidied: bool = False
    """Older status comments of the thread have been minimised."""


class Pull(Frozen):
    """A pull request that this bot has opened. ``thread`` is the issue (or pull request) that it was asked on."""

    repository_id: int
    number: int
    thread: int
    branch: str
    sha: str
    """The head as we left it."""
    rounds: int = 0
    """Reviews that have been answered by work."""
    task_id: str
