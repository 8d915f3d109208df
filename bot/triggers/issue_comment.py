"""``issue_comment``: a command in a new comment on an issue, or in the conversation of a pull request.

``created`` acts. ``edited`` acts for whoever mends a mistake of his own: only a command where there was none before,
only by the comment's author, only within an hour. A deleted comment is nobody's words. The command is read from the
signed payload, so no later edit can change it; who may is asked anew for every request.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import NamedTuple

from pydantic import Field

from bot import commands
from bot.permissions import ASKING_TYPE
from bot.tasks import Actor, Command, Mistake, Request, Verb
from bot.triggers.shape import App, Context, Id, Ignored, Installation, Moment, OptionalText, Part, Repo, User

EVENT = "issue_comment"

# Long enough to notice a typo; too short for an old comment, which nobody looks at, to become a command.
EDIT_WINDOW = timedelta(hours=1)


class Action(Part):
    action: str = Field(max_length=40)


class Issue(Part):
    number: Id
    pull_request: dict[str, object] | None = None
    """There at all only where the thread is a pull request's."""


class Comment(Part):
    id: Id
    user: User | None
    body: OptionalText = ""
    created_at: Moment
    updated_at: Moment
    performed_via_github_app: App | None = None


class Before(Part):
    """What a changed field held before."""

    was: OptionalText = Field(default="", alias="from")


class Changes(Part):
    body: Before | None = None
    """There only where the text was changed."""


class Payload(Action):
    issue: Issue
    comment: Comment
    repository: Repo
    sender: User | None = None
    changes: Changes = Changes()
    installation: Installation | None = None


class Asker(NamedTuple):
    """Who asked, and through which installation."""

    sender: Actor
    installation_id: int


def parse(payload: object, context: Context, /) -> Request | Ignored:
    """See ``Trigger``."""
    if Action.model_validate(payload).action not in {"created", "edited"}:
        return Ignored("only new comments and changed ones are read")
    read = Payload.model_validate(payload)
    asker = _asker(read, context)
    if isinstance(asker, Ignored):
        return asker
    found = commands.parse(read.comment.body, context.word)
    if found is None:
        return Ignored("no command")
    if read.action == "edited" and (ignored := _edit(read, found, context)) is not None:
        return ignored
    return _request(read, asker, found, context)


def _edit(read: Payload, found: Command | Mistake, context: Context) -> Ignored | None:
    """Why an edit asks for nothing; None where it does."""
    before = read.changes.body
    if before is None:
        return Ignored("the text was not changed")
    if isinstance(found, Mistake):
        return Ignored("a mistake is told once")
    if isinstance(commands.parse(before.was, context.word), Command):
        return Ignored("a command was there before the edit")
    if read.comment.updated_at - read.comment.created_at > EDIT_WINDOW:
        return Ignored("changed more than an hour after it was written")
    return None


def _asker(read: Payload, context: Context) -> Asker | Ignored:
    """Refuses for reasons that lie with the one who wrote, whatever he wrote."""
    app, author, sender = read.comment.performed_via_github_app, read.comment.user, read.sender
    if app is not None and context.app_id in {str(app.id), app.client_id}:
        return Ignored("our own comment")
    if author is None or sender is None:
        return Ignored("its author has no account any more")
    if author.id != sender.id:
        return Ignored("sent by another than its author")
    if {author.type, sender.type} != {ASKING_TYPE}:
        return Ignored("not written by a person")
    if read.installation is None:
        return Ignored("not sent for an installation of the app")
    return Asker(sender.actor(), read.installation.id)


def _request(read: Payload, asker: Asker, found: Command | Mistake, context: Context) -> Request:
    said = hashlib.sha256(read.comment.body.encode()).hexdigest()
    return Request(
        delivery_id=context.delivery_id,
        content_key=f"{EVENT}:{read.repository.id}:{read.comment.id}:{said}",
        event=EVENT,
        installation_id=asker.installation_id,
        repository=read.repository.repository(),
        thread=read.issue.number,
        is_pull_request=read.issue.pull_request is not None,
        comment_id=read.comment.id,
        sender=asker.sender,
        command=Command(verb=Verb.HELP) if isinstance(found, Mistake) else found,
        mistake=found if isinstance(found, Mistake) else None,
        created_at=read.comment.created_at,
    )
