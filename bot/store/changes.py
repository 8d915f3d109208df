"""What happened on GitHub ends tasks: a flag on each that it is about. Runs inside a transaction of `Store`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, update

from bot.store.schema import tasks
from bot.tasks import Change, TaskState

t = tasks.c


def apply(connection: Connection, change: Change, now: float) -> int:
    """Ask for the end of the unfinished tasks that ``change`` is about; how many there were. Again: the same.

    A deleted comment takes back only what has not begun: work that runs is somebody's money already, and its asker can
    say ``cancel``.
    """
    which = [t.state != TaskState.DONE, *_about(change)]
    if change.what == "comment_deleted":
        which += [t.state == TaskState.QUEUED, t.started_at.is_(None)]
    asked = update(tasks).where(and_(*which)).values(cancel_requested=True, updated_at=now)
    return connection.execute(asked).rowcount


def _about(change: Change) -> list[ColumnElement[Any]]:
    found: list[ColumnElement[Any]] = [t.installation_id == change.installation_id]
    if change.repositories:
        found.append(t.repository_id.in_(change.repositories))
    if change.repository_id is not None:
        found.append(t.repository_id == change.repository_id)
    if change.thread is not None:
        found.append(t.thread == change.thread)
    if change.comment_id is not None:
        found.append(t.comment_id == change.comment_id)
    return found
