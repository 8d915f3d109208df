"""Bring the result to its thread: which steps, and how each may end. Every step is safe to repeat.

The outcome is stored before anything here runs, and ``GitHubUnavailable`` passes through: the runner keeps the task
in ``publishing`` and comes back. Nothing is run again for a post that failed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from bot.github import GitHub, GitHubRefused, RepositoryRef


@dataclass(frozen=True)
class EditComment:
    """Put the result into the status comment."""

    comment_id: int
    body: str


@dataclass(frozen=True)
class CreateComment:
    """Post the result as a comment of its own, unless one with its marker is there already."""

    thread: int
    body: str
    marker: str


Step = EditComment | CreateComment


@dataclass(frozen=True)
class Delivered:
    """The result is in this comment."""

    comment_id: int


@dataclass(frozen=True)
class Undeliverable:
    """It can never be posted; ``words`` say why, for the log and for ``gofer patch``."""

    words: str
    status: int = field(default=0, compare=False)
    """GitHub's."""

    @property
    def for_what_it_says(self) -> bool:
        """GitHub takes comments there, but not this one: it may take another."""
        return self.status == 422


def plan(*, thread: int, comment_id: int | None, body: str, marker: str) -> tuple[Step, ...]:
    """The steps in the order to try them; the first that succeeds ends it.

    ``comment_id`` is the status comment's, None where none was made or stored. ``marker`` is part of ``body``.
    """
    create = CreateComment(thread, body, marker)
    return (create,) if comment_id is None else (EditComment(comment_id, body), create)


def goes_on(step: Step, status: int) -> bool:
    """Whether the next step may succeed where this one was refused with ``status``: our comment is gone."""
    return isinstance(step, EditComment) and status in {404, 410}


def why(status: int, words: str) -> str:
    """What a refusal means here, in one sentence, with GitHub's own words where they add something."""
    if "locked" in words.lower():
        return "the conversation is locked"
    meanings = {
        301: "the issue or repository has moved elsewhere",
        307: "the issue or repository has moved elsewhere",
        401: "GitHub does not accept the app's credentials any more",
        403: "the app may not write here any more",
        404: "the thread is gone, or the app has no access to it any more",
        410: "the issue was deleted",
        422: "GitHub does not accept the comment",
    }
    meaning = meanings.get(status, "GitHub refused the comment")
    return f"{meaning} ({status}: {words})"


async def perform(
    github: GitHub,
    where: RepositoryRef,
    steps: tuple[Step, ...],
    *,
    since: datetime | None = None,
    pull_request: bool = False,
) -> Delivered | Undeliverable:
    """Perform the plan. Again after a crash or a ``GitHubUnavailable``, it ends with the same one comment.

    ``since`` is when the task was made: no comment of ours can be older.
    """
    refusal = Undeliverable("there was nothing to do")
    for step in steps:
        try:
            return Delivered(await _perform(github, where, step, since, pull_request))
        except GitHubRefused as error:
            refusal = Undeliverable(why(error.status, error.words), error.status)
            if not goes_on(step, error.status):
                break
    return refusal


async def _perform(github: GitHub, where: RepositoryRef, step: Step, since: datetime | None, pull_request: bool) -> int:
    match step:
        case EditComment(comment_id, body):
            await github.edit_comment(where, comment_id, body, pull_request=pull_request)
            return comment_id
        case CreateComment(thread, body, marker):
            return await github.create_comment(where, thread, body, marker, since=since, pull_request=pull_request)
