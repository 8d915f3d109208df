"""Pull requests, reviews, labels and check runs of the local GitHub: plain values, as ``github_state``."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bot.demo.github_state import App, Reaction, Repository, User


@dataclass(eq=False)
class ReviewComment:
    """A comment on a line. ``in_reply_to`` is the id of the thread's first one; None: it is the first."""

    id: int
    body: str
    user: User
    path: str
    created_at: datetime
    updated_at: datetime
    commit_id: str
    review_id: int | None = None
    line: int | None = 1
    start_line: int | None = None
    side: str = "RIGHT"
    diff_hunk: str = "@@ -1 +1,2 @@\n # Hello\n+More"
    in_reply_to: int | None = None
    by_app: bool = False
    minimised: str = ""
    edited_at: datetime | None = None
    reactions: list[Reaction] = field(default_factory=list)
    history: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Labelling:
    """A label was put on, or taken off."""

    id: int
    name: str
    user: User
    created_at: datetime
    on: bool


@dataclass(eq=False)
class Review:
    """``state`` in GitHub's words: APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING."""

    id: int
    user: User
    state: str
    body: str
    commit_id: str
    submitted_at: datetime
    by_app: bool = False
    edited_at: datetime | None = None


@dataclass(eq=False)
class Pull:
    """What makes an issue a pull request. ``head_repository`` None: the fork was deleted; ``sha`` is the head as the
    last event saw it."""

    head_ref: str
    head_repository: Repository | None
    base_ref: str
    sha: str
    base_sha: str
    draft: bool = False
    merged: bool = False
    merge_commit: str = ""
    maintainer_can_modify: bool = False
    by_app: bool = False
    reviews: list[Review] = field(default_factory=list)
    comments: list[ReviewComment] = field(default_factory=list)
    resolved: set[int] = field(default_factory=set)
    """Ids of the first comments of resolved threads."""


@dataclass(eq=False)
class CheckRun:
    """A check of ours. ``fields`` are as they were sent last."""

    id: int
    head_sha: str
    fields: dict[str, Any]
    started_at: datetime


@dataclass(eq=False)
class CheckSuite:
    """What one App has to say of a commit."""

    id: int
    head_sha: str
    conclusion: str
    app: App
    made_at: datetime


@dataclass(eq=False)
class Activity:
    """That a branch has moved. ``kind`` in GitHub's words: push, force_push, branch_creation, branch_deletion,
    pr_merge; a commit that is not is forty zeros."""

    id: int
    before: str
    after: str
    ref: str
    at: datetime
    kind: str
    actor: User


@dataclass(eq=False)
class Sent:
    """One webhook delivery as the App's own list has it."""

    id: int
    guid: str
    event: str
    action: str
    body: bytes
    delivered_at: datetime
    status: int | None
    installation_id: int | None
    repository_id: int | None
    redelivery: bool = False
