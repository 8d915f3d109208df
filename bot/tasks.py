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


class Frozen(BaseModel):
    """Immutable and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Verb(StrEnum):
    """What was asked for."""

    RUN = "run"
    HELP = "help"


class Command(Frozen):
    """A command as the grammar of ``bot.commands`` reads it. ``prompt`` is the asker's text, but for line ends."""

    verb: Verb
    prompt: str = ""


class Slip(StrEnum):
    """Why a text that aims at us is no command."""

    EMPTY = "empty"
    """The command word and nothing after it."""
    PLACE = "place"
    """Not at the start of a line of its own: amid a sentence, in a list, a table, or drawn into the quote above."""
    GLUED = "glued"
    """Punctuation or an invisible character right after the command word."""
    OPTION = "option"
    """Options before the prompt; there are none."""
    TYPO = "typo"
    """A lone word close to a verb."""
    NOT_YET = "not_yet"
    """A verb that is known and not there yet."""
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
    mistake: Mistake | None = None
    """Set where the text aimed at us and was no command; ``command`` is then ``help``, and the answer explains it."""
    created_at: datetime
    """When the comment was made, by GitHub's clock."""


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
