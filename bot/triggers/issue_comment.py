"""``issue_comment``: a command in a new comment on an issue, or in the conversation of a pull request.

``created`` acts. ``edited`` acts for whoever mends a mistake of his own: only a command where there was none before,
only by the comment's author, only within an hour. ``deleted`` takes a command back that has not begun.
"""

from __future__ import annotations

from bot import commands
from bot.tasks import Change, Command, Mistake, Request, Verb
from bot.triggers.asking import Action, Asker, Changes, Text, asked, digest
from bot.triggers.shape import Context, Id, Ignored, Installation, Part, Repo, Title, User

EVENT = "issue_comment"


class Issue(Part):
    number: Id
    pull_request: dict[str, object] | None = None
    """There at all only where the thread is a pull request's."""
    title: Title = ""


class Payload(Action):
    issue: Issue
    comment: Text
    repository: Repo
    sender: User | None = None
    changes: Changes = Changes()
    installation: Installation | None = None


def parse(payload: object, context: Context, /) -> Request | Change | Ignored:
    """See ``Trigger``."""
    action = Action.model_validate(payload).action
    if action not in {"created", "edited", "deleted"}:
        return Ignored("nothing is done on this action")
    read = Payload.model_validate(payload)
    if action == "deleted":
        return _deleted(read, context)
    found = asked(read, action, context)
    return found if isinstance(found, Ignored) else _request(read, *found, context)


def _deleted(read: Payload, context: Context) -> Change | Ignored:
    """Whoever deleted it: nobody's words are carried out that are not there any more."""
    if read.installation is None:
        return Ignored("not sent for an installation of the app")
    return Change(
        delivery_id=context.delivery_id,
        what="comment_deleted",
        installation_id=read.installation.id,
        repository_id=read.repository.id,
        thread=read.issue.number,
        comment_id=read.comment.id,
    )


def _request(read: Payload, who: Asker, found: Command | Mistake, context: Context) -> Request:
    return Request(
        delivery_id=context.delivery_id,
        content_key=f"{EVENT}:{read.repository.id}:{read.comment.id}:{digest(read.comment.body)}",
        event=EVENT,
        installation_id=who.installation_id,
        repository=read.repository.repository(),
        thread=read.issue.number,
        is_pull_request=read.issue.pull_request is not None,
        comment_id=read.comment.id,
        title=read.issue.title,
        sender=who.sender,
        command=Command(verb=Verb.HELP) if isinstance(found, Mistake) else found,
        mistake=found if isinstance(found, Mistake) else None,
        ignored=commands.others(read.comment.body, context.word),
        created_at=read.comment.created_at,
    )
