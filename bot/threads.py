"""A thread on GitHub as it was when somebody asked: who said what, and what a pull request stands on. Pure values.

All text in here is other people's: untrusted, and handed on as data only.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from bot.tasks import Actor, Anchor, Frozen


class Said(Frozen):
    """One piece of text of a thread. ``author`` is None for a deleted account."""

    kind: Literal["title", "body", "comment", "review", "review_comment"]
    id: int
    """GitHub's, unique for its kind; the thread's number for title and body."""
    author: Actor | None
    body: str
    created_at: datetime
    edited_at: datetime | None = None
    """When its text was last changed; None: never. What GitHub cannot say counts as changed when it was updated."""
    minimised: bool = False
    resolved: bool = False
    """Of a review thread."""
    outdated: bool = False
    anchor: Anchor | None = None
    review_id: int | None = None


class Head(Frozen):
    """What a pull request would merge and where. A repository's id is None where it was deleted."""

    sha: str
    ref: str
    repository_id: int | None
    owner: str = ""
    name: str = ""
    base_ref: str
    base_sha: str
    draft: bool = False
    merged: bool = False
    author: Actor | None = None
    maintainer_can_modify: bool = False


class Thread(Frozen):
    """An issue or a pull request with all that was said on it, oldest first."""

    number: int
    is_pull_request: bool
    title: str
    state: Literal["open", "closed"]
    locked: bool
    author: Actor | None
    labels: tuple[str, ...] = ()
    said: tuple[Said, ...] = ()
    head: Head | None = None
    """Of a pull request."""

    def from_fork(self, repository_id: int) -> bool:
        """Whether the head is in another repository than this one, or in one that is gone."""
        return self.head is not None and self.head.repository_id != repository_id
