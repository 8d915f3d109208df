"""``issues`` and ``pull_request``: a label that starts a task, and what ends the tasks of a thread.

Labels of pull requests arrive as ``pull_request``. Which labels start a task is the repository's to say, so every label
is taken along and looked at later, with its labeller's permission; only the label that the event itself brings counts.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from bot.tasks import Change, Command, Request, Verb
from bot.triggers.asking import Action, person
from bot.triggers.pulls import Head
from bot.triggers.shape import Context, Id, Ignored, Installation, Moment, Part, Repo, Title, User
from bot.triggers.shape import Text as PlainText

LabelName = Annotated[PlainText, StringConstraints(min_length=1, max_length=100)]


class Label(Part):
    name: LabelName


class Thread(Part):
    """An issue or a pull request."""

    number: Id
    updated_at: Moment
    head: Head | None = None
    """Of a pull request."""
    title: Title = ""


class Labelled(Action):
    label: Label
    repository: Repo
    sender: User | None = None
    installation: Installation | None = None


class OnIssue(Labelled):
    issue: Thread


class OnPull(Labelled):
    pull_request: Thread


class Ended(Action):
    repository: Repo
    installation: Installation | None = None
    issue: Thread | None = None


What = Literal["thread_locked", "thread_gone"]
_ENDS: dict[str, What] = {"locked": "thread_locked", "transferred": "thread_gone", "deleted": "thread_gone"}


def issues(payload: object, context: Context, /) -> Request | Change | Ignored:
    """See ``Trigger``. A locked issue takes no answer, a transferred or deleted one is not here any more."""
    action = Action.model_validate(payload).action
    if action == "labeled":
        read = OnIssue.model_validate(payload)
        return _labelled(read, read.issue, "issues", context)
    if action not in _ENDS:
        return Ignored("nothing is done on this action")
    ended = Ended.model_validate(payload)
    if ended.installation is None or ended.issue is None:
        return Ignored("not sent for an installation of the app")
    return Change(
        delivery_id=context.delivery_id,
        what=_ENDS[action],
        installation_id=ended.installation.id,
        repository_id=ended.repository.id,
        thread=ended.issue.number,
    )


def pull_request(payload: object, context: Context, /) -> Request | Ignored:
    """See ``Trigger``. That one is closed or its head has moved is looked at before anything is published."""
    if Action.model_validate(payload).action != "labeled":
        return Ignored("nothing is done on this action")
    read = OnPull.model_validate(payload)
    return _labelled(read, read.pull_request, "pull_request", context)


def _labelled(read: Labelled, thread: Thread, event: str, context: Context) -> Request | Ignored:
    who = person(read.sender, read.installation)
    if isinstance(who, Ignored):
        return who
    at = thread.updated_at
    return Request(
        delivery_id=context.delivery_id,
        # the same label again at another time asks again
        content_key=f"label:{read.repository.id}:{thread.number}:{read.label.name.lower()}:{at.isoformat()}",
        event=event,
        installation_id=who.installation_id,
        repository=read.repository.repository(),
        thread=thread.number,
        is_pull_request=event == "pull_request",
        comment_id=None,
        sender=who.sender,
        command=Command(verb=Verb.RUN),
        trigger="label",
        label=read.label.name,
        title=thread.title,
        head_sha=thread.head.sha if thread.head else None,
        created_at=at,
    )
