"""``issue_comment``: a command in a new comment on an issue, or in the conversation of a pull request.

Only ``created`` acts. An edited comment need not be its author's words any more, and a deleted one is nobody's.
The command is read from the signed payload, so no later edit can change it.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from pydantic import Field

from bot import commands
from bot.permissions import ASKING_TYPE
from bot.tasks import Actor, Command, Mistake, Request, Verb
from bot.triggers.shape import App, Context, Id, Ignored, Installation, Moment, OptionalText, Part, Repo, User

EVENT = "issue_comment"


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
    performed_via_github_app: App | None = None


class Payload(Action):
    issue: Issue
    comment: Comment
    repository: Repo
    sender: User | None = None
    installation: Installation | None = None


class Asker(NamedTuple):
    """Who asked, and through which installation."""

    sender: Actor
    installation_id: int


def parse(payload: object, context: Context, /) -> Request | Ignored:
    """See ``Trigger``."""
    if Action.model_validate(payload).action != "created":
        return Ignored("only new comments are read")
    read = Payload.model_validate(payload)
    asker = _asker(read, context)
    if isinstance(asker, Ignored):
        return asker
    found = commands.parse(read.comment.body, context.word)
    return Ignored("no command") if found is None else _request(read, asker, found, context)


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
