"""``pull_request_review``: a command in a review's body, or "changes requested" on a pull request that a program made.

Whether that program is this bot is asked later, of our own rows: a payload cannot prove it. All threads of the review
are handed over; what is resolved is left alone.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from bot import commands
from bot.tasks import Command, Mistake, Request, Verb
from bot.triggers.asking import Action, Asker, Changes, asker, digest, edit
from bot.triggers.pulls import PullRequest
from bot.triggers.shape import App, Context, Id, Ignored, Installation, Moment, OptionalText, Part, Repo, User

EVENT = "pull_request_review"
CHANGES_REQUESTED = "changes_requested"
# Of an account that a program uses.
BOT_TYPE = "Bot"


class Review(Part):
    """A review that has been submitted. GitHub sends its state in small letters here and in capitals elsewhere."""

    id: Id
    user: User | None
    body: OptionalText = ""
    state: str = Field(max_length=40)
    submitted_at: Moment
    updated_at: Moment | None = None
    performed_via_github_app: App | None = None


class Payload(Action):
    review: Review
    pull_request: PullRequest
    repository: Repo
    sender: User | None = None
    changes: Changes = Changes()
    installation: Installation | None = None


class Asked(NamedTuple):
    """What the review asks for."""

    command: Command
    mistake: Mistake | None


def parse(payload: object, context: Context, /) -> Request | Ignored:
    """See ``Trigger``."""
    action = Action.model_validate(payload).action
    if action not in {"submitted", "edited"}:
        return Ignored("nothing is done on this action")
    read = Payload.model_validate(payload)
    who = asker(read.review, read.sender, read.installation, context)
    if isinstance(who, Ignored):
        return who
    asked = _edited(read, context) if action == "edited" else _submitted(read, context)
    return asked if isinstance(asked, Ignored) else _request(read, who, asked, context)


def _submitted(read: Payload, context: Context) -> Asked | Ignored:
    found = commands.parse(read.review.body, context.word)
    if isinstance(found, Command):
        return Asked(found, None)
    author = read.pull_request.user
    if read.review.state.lower() == CHANGES_REQUESTED and author is not None and author.type == BOT_TYPE:
        return Asked(Command(verb=Verb.RUN), None)
    if isinstance(found, Mistake):
        return Asked(Command(verb=Verb.HELP), found)
    return Ignored("no command, and no changes are asked for of a program")


def _edited(read: Payload, context: Context) -> Asked | Ignored:
    found = commands.parse(read.review.body, context.word)
    if found is None:
        return Ignored("no command")
    review = read.review
    # of a review GitHub does not say when it was changed: the event itself is the change
    ignored = edit(read.changes, found, review.submitted_at, review.updated_at or review.submitted_at, context.word)
    if ignored is not None or isinstance(found, Mistake):
        return ignored or Ignored("a mistake is told once")
    return Asked(found, None)


def _request(read: Payload, who: Asker, asked: Asked, context: Context) -> Request:
    review = read.review
    return Request(
        delivery_id=context.delivery_id,
        content_key=f"{EVENT}:{read.repository.id}:{review.id}:{digest(review.body)}",
        event=EVENT,
        installation_id=who.installation_id,
        repository=read.repository.repository(),
        thread=read.pull_request.number,
        is_pull_request=True,
        comment_id=None,
        sender=who.sender,
        command=asked.command,
        mistake=asked.mistake,
        ignored=commands.others(review.body, context.word),
        trigger="review",
        review_id=review.id,
        title=read.pull_request.title,
        head_sha=read.pull_request.head.sha,
        created_at=review.submitted_at,
    )
