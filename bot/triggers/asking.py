"""What every text that may hold a command has in common: who wrote it, whether it is ours, and whether an edit counts.

Pure. The command is read from the signed payload, so no later edit can change it; who may is asked anew each time.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from pydantic import Field

from bot import commands
from bot.permissions import ASKING_TYPE
from bot.tasks import Actor, Command, Mistake
from bot.triggers.shape import App, Context, Id, Ignored, Installation, Moment, OptionalText, Part, User

# Long enough to notice a typo; too short for an old text, which nobody looks at, to become a command.
EDIT_WINDOW = timedelta(hours=1)


class Action(Part):
    """The part of any payload that says what happened."""

    action: str = Field(max_length=40)


class Text(Part):
    """Something that somebody wrote."""

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


class Asker(NamedTuple):
    """Who asked, and through which installation."""

    sender: Actor
    installation_id: int


class Writing(Protocol):
    """What ``asker`` looks at."""

    @property
    def user(self) -> User | None: ...

    @property
    def performed_via_github_app(self) -> App | None: ...


def person(sender: User | None, installation: Installation | None) -> Asker | Ignored:
    """Somebody who did something other than to write. Refuses for reasons that lie with him."""
    if sender is None:
        return Ignored("its author has no account any more")
    if sender.type != ASKING_TYPE:
        return Ignored("not done by a person")
    if installation is None:
        return Ignored("not sent for an installation of the app")
    return Asker(sender.actor(), installation.id)


def asker(
    written: Writing, sender: User | None, installation: Installation | None, context: Context
) -> Asker | Ignored:
    """Refuses for reasons that lie with the one who wrote, whatever he wrote."""
    app, author = written.performed_via_github_app, written.user
    if app is not None and context.app_id in {str(app.id), app.client_id}:
        return Ignored("our own comment")
    if author is None or sender is None:
        return Ignored("its author has no account any more")
    if author.id != sender.id:
        return Ignored("sent by another than its author")
    if {author.type, sender.type} != {ASKING_TYPE}:
        return Ignored("not written by a person")
    return person(sender, installation)


def edit(changes: Changes, found: Command | Mistake, made: datetime, changed: datetime, word: str) -> Ignored | None:
    """Why an edit asks for nothing; None where it does: a command where none was, by its author, within the hour."""
    if changes.body is None:
        return Ignored("the text was not changed")
    if isinstance(found, Mistake):
        return Ignored("a mistake is told once")
    if isinstance(commands.parse(changes.body.was, word), Command):
        return Ignored("a command was there before the edit")
    if changed - made > EDIT_WINDOW:
        return Ignored("changed more than an hour after it was written")
    return None


class Commented(Protocol):
    """The payload of a comment, wherever it stands."""

    @property
    def comment(self) -> Text: ...
    @property
    def sender(self) -> User | None: ...
    @property
    def changes(self) -> Changes: ...
    @property
    def installation(self) -> Installation | None: ...


def asked(read: Commented, action: str, context: Context) -> tuple[Asker, Command | Mistake] | Ignored:
    """Who asks for what in a comment that was ``created`` or ``edited``."""
    comment = read.comment
    who = asker(comment, read.sender, read.installation, context)
    if isinstance(who, Ignored):
        return who
    found = commands.parse(comment.body, context.word)
    if found is None:
        return Ignored("no command")
    if action == "edited":
        ignored = edit(read.changes, found, comment.created_at, comment.updated_at, context.word)
        if ignored is not None:
            return ignored
    return who, found


def digest(body: str) -> str:
    """Of the words, for a content key: the same words in the same place ask once."""
    return hashlib.sha256(body.encode()).hexdigest()
