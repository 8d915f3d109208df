"""What is asked of the database without holding a task. Runs inside a transaction of `Store`."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from bot.store.claim import HOLDS_PLACE, OPEN, WAITS
from bot.store.rows import Task, clean, outcome_of, task_of
from bot.store.schema import results, tasks
from sandbox import Outcome

t = tasks.c
r = results.c


def one(connection: Connection, task_id: str) -> Task | None:
    """A task by its id, as people may have typed it; None where there is none."""
    row = connection.execute(select(tasks).where(t.task_id == clean(task_id))).one_or_none()
    return None if row is None else task_of(row._mapping)


def every(connection: Connection) -> list[Task]:
    """All tasks, oldest first. For tests and small tools."""
    return [task_of(row._mapping) for row in connection.execute(select(tasks).order_by(t.seq))]


def outcome(connection: Connection, task_id: str) -> Outcome | None:
    """How the task's sandbox ended, patch included; None until it is stored, and where there never was one."""
    wanted = select(r.outcome, r.patch, r.contents).where(r.task_id == clean(task_id))
    row = connection.execute(wanted).one_or_none()
    return None if row is None else outcome_of(row.outcome, row.patch, row.contents)


def patch(connection: Connection, task_id: str) -> bytes | None:
    """The whole patch; None as for ``outcome``, and where there is no patch in it."""
    return connection.execute(select(r.patch).where(r.task_id == clean(task_id))).scalar_one_or_none()


def handles(connection: Connection) -> frozenset[str]:
    """Names of the sandboxes that an unfinished task owns, or is about to make."""
    return frozenset(connection.execute(select(t.handle).where(OPEN, t.handle.is_not(None))).scalars())


def queue(connection: Connection) -> list[tuple[str, int | None]]:
    """The waiting tasks in their order, each with the position that its asker was last shown."""
    rows = connection.execute(select(t.task_id, t.shown_position).where(WAITS).order_by(t.seq))
    return [(row.task_id, row.shown_position) for row in rows]


def running(connection: Connection) -> int:
    """Tasks that have a place."""
    return connection.execute(select(func.count()).select_from(tasks).where(HOLDS_PLACE)).scalar_one()
