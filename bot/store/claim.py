"""Who works on what: claims with a lease and a fence. Runs inside a transaction of `Store`.

A claim names the worker, sets the time until which nobody else may touch the task, and raises the fence by one, so
that whoever held the task before can no longer write to it. On PostgreSQL claims are made one at a time, or two
workers would count the same free place twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, case, func, or_, select, update

from bot.store.rows import Task, task_of
from bot.store.schema import tasks
from bot.tasks import TaskState, Verb

_log = logging.getLogger(__name__)

t = tasks.c
OPEN = t.state != TaskState.DONE
# A place is taken from the start until the outcome is stored: then nothing of it runs any more.
HOLDS_PLACE = and_(
    t.state.in_([TaskState.QUEUED, TaskState.PREPARING, TaskState.RUNNING]), OPEN, t.started_at.is_not(None)
)
WAITS = and_(t.state == TaskState.QUEUED, t.started_at.is_(None), t.admitted_at.is_not(None), OPEN)
NEW = and_(t.state == TaskState.QUEUED, t.admitted_at.is_(None), OPEN)
# What is not wanted any more needs no place to end.
TAKEN_BACK = and_(WAITS, t.cancel_requested.is_(True))
GOING_ON = and_(or_(t.started_at.is_not(None), t.state == TaskState.PUBLISHING, TAKEN_BACK), OPEN)

# Rows that one claim may bring in. More wait for the next one, a moment later; it keeps transactions short and the
# number of requests to GitHub that start at once bounded.
NEW_AT_ONCE = 16
OLD_AT_ONCE = 64
# Seconds ahead of now that a lease can end at most: GitHub may ask for an hour's wait. One that ends later was written
# before the clock was put back, and would hold its task for as long as that.
FARTHEST = 2 * 3600.0


@dataclass(frozen=True)
class Caps:
    """How many tasks may have a place at once: over all workers of this database, and of one repository."""

    running: int
    per_repository: int


def claim(connection: Connection, worker: str, now: float, ttl: float, caps: Caps, busy: frozenset[str]) -> list[Task]:
    """Take over what nobody holds any more, then what is new, then what may start. ``busy`` really runs here."""
    free = and_(_lapsed(now), t.task_id.not_in(busy))
    old = _take(connection, and_(GOING_ON, free), OLD_AT_ONCE, worker, now, ttl)
    new = _take(connection, and_(NEW, free), NEW_AT_ONCE, worker, now, ttl)
    return old + new + _start(connection, free, worker, now, ttl, caps)


def claim_waiting(connection: Connection, worker: str, now: float, ttl: float, task_id: str) -> Task | None:
    """Take one waiting task to show its new position; None where somebody holds it or it waits no more."""
    free = and_(WAITS, _lapsed(now), t.task_id == task_id)
    taken = _take(connection, free, 1, worker, now, ttl)
    return taken[0] if taken else None


def _lapsed(now: float) -> ColumnElement[bool]:
    return or_(t.lease_until <= now, t.lease_until > now + FARTHEST)


def may_start(connection: Connection, caps: Caps) -> ColumnElement[bool]:
    """The waiting tasks that may have a place now: first of their thread, within what their repository may use."""
    older = tasks.alias("older")
    first_of_thread = ~(
        select(older.c.seq)
        .where(older.c.repository_id == t.repository_id, older.c.thread == t.thread)
        .where(older.c.verb == Verb.RUN, older.c.state != TaskState.DONE, older.c.seq < t.seq)
        .exists()
    )
    full = _full_repositories(connection, caps.per_repository)
    return and_(WAITS, first_of_thread, t.repository_id.not_in(full))


def free_places(connection: Connection, caps: Caps) -> int:
    """Over all repositories."""
    taken = connection.execute(select(func.count()).select_from(tasks).where(HOLDS_PLACE)).scalar_one()
    return max(0, caps.running - taken)


def start_held(connection: Connection, task_id: str, caps: Caps, now: float) -> None:
    """Give the caller's own task a place at once, where it is the next one to have it."""
    if not free_places(connection, caps):
        return
    first = connection.execute(select(t.task_id).where(may_start(connection, caps)).order_by(t.seq).limit(1))
    if first.scalar_one_or_none() == task_id:
        connection.execute(update(tasks).where(t.task_id == task_id).values(started_at=now))


def _full_repositories(connection: Connection, per_repository: int) -> list[int]:
    counted = select(t.repository_id).where(HOLDS_PLACE).group_by(t.repository_id)
    return list(connection.execute(counted.having(func.count() >= per_repository)).scalars())


def _start(
    connection: Connection, free: ColumnElement[bool], worker: str, now: float, ttl: float, caps: Caps
) -> list[Task]:
    """One place after another, each the oldest that may have it: a start changes what the next one may."""
    started: list[Task] = []
    for _ in range(free_places(connection, caps)):
        taken = _take(connection, and_(may_start(connection, caps), free), 1, worker, now, ttl, started_at=now)
        if not taken:
            break
        started += taken
    return started


def _take(
    connection: Connection,
    which: ColumnElement[bool],
    count: int,
    worker: str,
    now: float,
    ttl: float,
    **also: Any,
) -> list[Task]:
    """Lease the oldest ``count`` of ``which``. A lease that its worker never gave back counts as an attempt."""
    oldest = select(t.seq).where(which).order_by(t.seq).limit(count)
    found = list(connection.execute(oldest).scalars())
    if not found:
        return []
    rows = connection.execute(
        update(tasks)
        .where(t.seq.in_(found))
        .values(
            worker=worker,
            lease_until=now + ttl,
            fence=t.fence + 1,
            attempts=t.attempts + case((t.worker.is_(None), 0), else_=1),
            updated_at=now,
            **also,
        )
        .returning(tasks)
    )
    return sorted(_readable(connection, [row._mapping for row in rows], now), key=lambda task: task.seq)


def _readable(connection: Connection, rows: Iterable[RowMapping], now: float) -> Iterator[Task]:
    """The rows as tasks. One that cannot be read (damaged, of another version) is ended, or none would be claimed."""
    for row in rows:
        try:
            yield task_of(row)
        except ValueError as error:
            _log.error("task %s cannot be read and is ended: %s", row["task_id"], type(error).__name__)
            ended = {"state": TaskState.DONE, "ending": "undeliverable", "finished_at": now, "worker": None}
            connection.execute(update(tasks).where(t.seq == row["seq"]).values(ended))
