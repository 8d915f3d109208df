"""What a task is and which way its state may go. Pure: values and one table.

    queued ──> preparing ──> running ──> publishing ──> done
       │           │            │                         ▲
       └───────────┴────────────┴──> publishing ──────────┘

A task is claimed as queued, and every later state is written before the work that it names. ``done`` is what was
delivered: the ending was posted, or could never be (then ``ending`` says so).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sandbox import Budget


class Frozen(BaseModel):
    """Immutable and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Verb(StrEnum):
    """What was asked for."""

    RUN = "run"
    HELP = "help"
    STATUS = "status"
    """What is under way and waiting on this thread."""
    CANCEL = "cancel"
    RETRY = "retry"
    """The thread's last task again; where only posting failed, only posting."""
    PR = "pr"
    """A pull request from the thread's last stored result, without running again."""
    DIFF = "diff"
    """The thread's last stored result as a comment, without running again."""


class Options(Frozen):
    """What stood before the prompt. None: not said, so as the repository and the operator have it."""

    result: Literal["diff", "pr"] | None = None
    agent: str | None = None
    model: str | None = None
    base: str | None = None
    """The branch that a pull request is to be merged into."""
    draft: bool | None = None
    budget: Budget = Budget()


class Command(Frozen):
    """A command as the grammar of ``bot.commands`` reads it. ``prompt`` is the asker's text, but for line ends."""

    verb: Verb
    prompt: str = ""
    options: Options = Options()


class Anchor(Frozen):
    """Where in the files a review comment stands. ``hunk`` is GitHub's own cut of the diff: untrusted text."""

    path: str
    line: int | None = None
    """Of the file on ``side``; None where the file has changed since (GitHub calls it outdated)."""
    start_line: int | None = None
    side: Literal["LEFT", "RIGHT"] = "RIGHT"
    hunk: str = ""
    root_id: int
    """The comment that begins the review thread: replies go there."""


Trigger = Literal["comment", "review_comment", "review", "label", "check"]
"""What kind of thing asked: see the table in bot/triggers."""


FOUND = "found-"
"""How the delivery id of a request begins that no webhook brought: GitHub's own are made of hexadecimal digits."""


class Slip(StrEnum):
    """Why a text that aims at us is no command."""

    EMPTY = "empty"
    """The command word and nothing after it."""
    PLACE = "place"
    """Not at the start of a line of its own: amid a sentence, in a list, a table, or drawn into the quote above."""
    GLUED = "glued"
    """Punctuation or an invisible character right after the command word."""
    OPTION = "option"
    """What looks like an option and is none."""
    VALUE = "value"
    """An option whose value is missing or cannot be one; ``nearest`` is the option's name."""
    CONFLICT = "conflict"
    """An option given twice, or against another, or where none may stand."""
    TYPO = "typo"
    """A lone word close to a verb."""
    TOO_LONG = "too_long"
    """A prompt over ``sandbox.MAX_PROMPT_BYTES``."""


class Mistake(Frozen):
    """What was found where a command was meant. ``found`` is the asker's own text: shown inert."""

    slip: Slip
    found: str = ""
    nearest: str = ""
    """The verb that was probably meant."""


class Actor(Frozen):
    """Who did something on GitHub. ``type`` is GitHub's own word; only ``User`` may ask for anything."""

    id: int
    login: str
    type: str


class Repository(Frozen):
    """A repository by its id, which outlives renames; the names are for URLs and for people."""

    id: int
    owner: str
    name: str
    private: bool
    default_branch: str


class Request(Frozen):
    """One trigger as it came in: all that its task will ever know of the webhook."""

    delivery_id: str
    content_key: str
    """What was asked, whatever the delivery: a replay under a new delivery id has the same key."""
    event: str
    installation_id: int
    repository: Repository
    thread: int
    """Number of the issue or pull request."""
    is_pull_request: bool
    comment_id: int | None
    sender: Actor
    command: Command
    trigger: Trigger = "comment"
    anchor: Anchor | None = None
    """Of a review comment."""
    review_id: int | None = None
    """Of a review: its threads are handed over."""
    label: str | None = None
    head_sha: str | None = None
    """Of a pull request, as the event had it; None where the event does not say (a comment in the conversation)."""
    check_run_id: int | None = None
    title: str = ""
    """Of the thread, as the event had it: GitHub does not say when one was changed. Empty where the event has none."""
    ignored: tuple[str, ...] = ()
    """Further commands of the same text, which are not carried out: the first line of each, untrusted."""
    mistake: Mistake | None = None
    """Set where the text aimed at us and was no command; ``command`` is then ``help``, and the answer explains it."""
    created_at: datetime
    """When the comment was made, by GitHub's clock."""


class Change(Frozen):
    """Something happened that ends or moves tasks and asks for nothing: the unfinished ones it is about are cancelled.

    What is None is not narrowed down: a repository without a thread is all its threads.
    """

    delivery_id: str
    what: Literal[
        "comment_deleted", "thread_locked", "thread_closed", "thread_gone", "head_moved", "repository_gone",
        "repository_public", "repository_archived", "installation_gone",
    ]  # fmt: skip
    installation_id: int
    repository_id: int | None = None
    repositories: tuple[int, ...] = ()
    """Those that were taken out of an installation."""
    thread: int | None = None
    comment_id: int | None = None


class TaskState(StrEnum):
    """Where a task is."""

    QUEUED = "queued"
    PREPARING = "preparing"
    RUNNING = "running"
    PUBLISHING = "publishing"
    DONE = "done"


LEGAL: dict[TaskState, frozenset[TaskState]] = {
    TaskState.QUEUED: frozenset({TaskState.PREPARING, TaskState.PUBLISHING, TaskState.DONE}),
    TaskState.PREPARING: frozenset({TaskState.RUNNING, TaskState.PUBLISHING, TaskState.DONE}),
    TaskState.RUNNING: frozenset({TaskState.PUBLISHING, TaskState.DONE}),
    TaskState.PUBLISHING: frozenset({TaskState.DONE}),
    TaskState.DONE: frozenset(),
}

Ending = Literal[
    "changed", "no_change", "failed", "timed_out", "cancelled", "lost", "refused", "helped", "undeliverable"
]
"""How a task ended, in one word for the database and for the metrics."""


def may_follow(old: TaskState, new: TaskState) -> bool:
    """Whether ``old`` to ``new`` is a legal step. Staying is not a step."""
    return new in LEGAL[old]
