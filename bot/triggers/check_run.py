"""``check_run``: "Re-run" and our own buttons on a check that we have made for a task."""

from __future__ import annotations

import re

from pydantic import Field

from bot.tasks import Command, Request, Verb
from bot.triggers.asking import Action, person
from bot.triggers.pulls import Sha
from bot.triggers.shape import App, Context, Id, Ignored, Installation, Moment, Part, Repo, User

EVENT = "check_run"
CANCEL, AGAIN = "cancel", "again"
"""What our buttons are called: GitHub allows twenty characters."""

_EXTERNAL = re.compile(r"([0-9a-z]{1,32}):([0-9]{1,15})(:issue)?", re.ASCII)


def external_id(task_id: str, thread: int, *, issue: bool = False) -> str:
    """What a check of ours carries, so that a button leads back to its thread: GitHub names no thread. ``issue``: the
    task was asked for on an issue, and the pull request is its result."""
    return f"{task_id}:{thread}:issue" if issue else f"{task_id}:{thread}"


class Check(Part):
    id: Id
    head_sha: Sha
    external_id: str | None = Field(default=None, max_length=200)
    app: App | None = None
    completed_at: Moment | None = None
    started_at: Moment | None = None


class Wanted(Part):
    identifier: str = Field(max_length=20)


class Payload(Action):
    check_run: Check
    repository: Repo
    sender: User | None = None
    installation: Installation | None = None
    requested_action: Wanted | None = None


def parse(payload: object, context: Context, /) -> Request | Ignored:
    """See ``Trigger``."""
    action = Action.model_validate(payload).action
    if action not in {"rerequested", "requested_action"}:
        return Ignored("nothing is done on this action")
    read = Payload.model_validate(payload)
    app, found = read.check_run.app, _EXTERNAL.fullmatch(read.check_run.external_id or "")
    if app is None or context.app_id not in {str(app.id), app.client_id} or found is None:
        return Ignored("not a check of ours")
    who = person(read.sender, read.installation)
    if isinstance(who, Ignored):
        return who
    verb = _verb(action, read.requested_action)
    if verb is None:
        return Ignored("not a button of ours")
    at = read.check_run.completed_at or read.check_run.started_at
    if at is None:
        return Ignored("a check that has not begun")
    return Request(
        delivery_id=context.delivery_id,
        # a button may be pressed again, and GitHub does not say when it was: the delivery tells them apart
        content_key=f"check:{read.repository.id}:{read.check_run.id}:{verb}:{context.delivery_id}",
        event=EVENT,
        installation_id=who.installation_id,
        repository=read.repository.repository(),
        thread=int(found[2]),
        is_pull_request=found[3] is None,
        comment_id=None,
        sender=who.sender,
        command=Command(verb=verb),
        trigger="check",
        head_sha=read.check_run.head_sha if found[3] is None else None,
        check_run_id=read.check_run.id,
        created_at=at,
    )


def _verb(action: str, wanted: Wanted | None) -> Verb | None:
    if action == "rerequested":
        return Verb.RETRY
    return {CANCEL: Verb.CANCEL, AGAIN: Verb.RETRY}.get(wanted.identifier if wanted else "")
