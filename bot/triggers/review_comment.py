"""``pull_request_review_comment``: a command in a comment on lines of a pull request. The place goes to the agent."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bot import commands
from bot.tasks import Anchor, Command, Mistake, Request, Verb
from bot.triggers.asking import Action, Asker, Changes, Text, asked, digest
from bot.triggers.pulls import PullRequest
from bot.triggers.shape import Context, Id, Ignored, Installation, OptionalText, Repo, User

EVENT = "pull_request_review_comment"

# A path in git has at most 4,096 bytes; GitHub's hunks are a screen long.
MAX_PATH_CHARS = 4_096
MAX_HUNK_CHARS = 65_536


class Comment(Text):
    path: OptionalText = Field(max_length=MAX_PATH_CHARS)
    line: Id | None = None
    start_line: Id | None = None
    side: Literal["LEFT", "RIGHT"] | None = "RIGHT"
    diff_hunk: OptionalText = ""
    in_reply_to_id: Id | None = None


class Payload(Action):
    comment: Comment
    pull_request: PullRequest
    repository: Repo
    sender: User | None = None
    changes: Changes = Changes()
    installation: Installation | None = None


def parse(payload: object, context: Context, /) -> Request | Ignored:
    """See ``Trigger``."""
    action = Action.model_validate(payload).action
    if action not in {"created", "edited"}:
        return Ignored("nothing is done on this action")
    read = Payload.model_validate(payload)
    found = asked(read, action, context)
    return found if isinstance(found, Ignored) else _request(read, *found, context)


def _request(read: Payload, who: Asker, found: Command | Mistake, context: Context) -> Request:
    comment = read.comment
    return Request(
        delivery_id=context.delivery_id,
        content_key=f"{EVENT}:{read.repository.id}:{comment.id}:{digest(comment.body)}",
        event=EVENT,
        installation_id=who.installation_id,
        repository=read.repository.repository(),
        thread=read.pull_request.number,
        is_pull_request=True,
        comment_id=comment.id,
        sender=who.sender,
        command=Command(verb=Verb.HELP) if isinstance(found, Mistake) else found,
        mistake=found if isinstance(found, Mistake) else None,
        ignored=commands.others(comment.body, context.word),
        trigger="review_comment",
        anchor=anchor_of(comment),
        title=read.pull_request.title,
        head_sha=read.pull_request.head.sha,
        created_at=comment.created_at,
    )


def anchor_of(comment: Comment) -> Anchor:
    """Where it stands. A reply stands where the comment does that it answers."""
    return Anchor(
        path=comment.path,
        line=comment.line,
        start_line=comment.start_line,
        side=comment.side or "RIGHT",
        hunk=comment.diff_hunk[:MAX_HUNK_CHARS],
        root_id=comment.in_reply_to_id or comment.id,
    )
