"""What the holder of a task writes. Runs inside a transaction of `Store`; every write checks the fence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, select, update

from bot.store.rows import Task, clean, outcome_columns, task_of
from bot.store.schema import results, tasks
from bot.tasks import Ending, TaskState, may_follow
from sandbox import Outcome

t = tasks.c


class LeaseLost(Exception):
    """Another worker has claimed the task since (or it is done): stop touching it and all that belongs to it."""


def write(connection: Connection, task: Task, now: float, **values: Any) -> Task:
    """Change columns of a task that is still ours, and read it back. Raises ``LeaseLost``."""
    row = connection.execute(
        update(tasks)
        .where(t.task_id == task.task_id, t.fence == task.fence, t.state == task.state)
        .where(t.worker == task.worker)
        .values(updated_at=now, **values)
        .returning(tasks)
    ).one_or_none()
    if row is None:
        raise LeaseLost(task.task_id)
    return task_of(row._mapping)


def move(connection: Connection, task: Task, new: TaskState, now: float, **values: Any) -> Task:
    """``write`` into another state. ``ValueError`` where that is no legal step."""
    if not may_follow(task.state, new):
        raise ValueError(f"task {task.task_id} may not go from {task.state} to {new}")
    return write(connection, task, now, state=new, retries=0, **values)


def store_outcome(connection: Connection, task: Task, outcome: Outcome, ending: Ending, now: float) -> Task:
    """The outcome, its patch and the step to publishing: all or nothing."""
    moved = move(connection, task, TaskState.PUBLISHING, now, ending=ending)
    body, patch, contents = outcome_columns(outcome)
    connection.execute(delete(results).where(results.c.task_id == task.task_id))
    connection.execute(insert(results).values(task_id=task.task_id, outcome=body, patch=patch, contents=contents))
    return moved


def finish(connection: Connection, task: Task, ending: Ending, now: float) -> Task:
    """Done, and let go of."""
    return move(connection, task, TaskState.DONE, now, ending=ending, finished_at=now, worker=None, lease_until=0.0)


def release(connection: Connection, task: Task, until: float, now: float, put_off: bool) -> None:
    """Let go, so that anybody may claim it after ``until``. A row that is no longer ours is left alone."""
    values: dict[str, Any] = {"worker": None, "lease_until": until, "updated_at": now}
    if put_off:
        values["retries"] = t.retries + 1
    connection.execute(
        update(tasks)
        .where(t.task_id == task.task_id, t.fence == task.fence, t.worker == task.worker)
        .where(t.state != TaskState.DONE)
        .values(**values)
    )


def beat(connection: Connection, worker: str, held: Mapping[str, int], now: float, ttl: float) -> dict[str, bool]:
    """Extend the leases of ``held`` (task id -> fence). Answers those that are still ours -> cancel requested.

    Only what the caller really works on may be in ``held``: a lease that is kept up for a task that nobody works on
    is a task that never ends.
    """
    ours = and_(t.worker == worker, t.state != TaskState.DONE, t.task_id.in_(list(held)))
    rows = connection.execute(select(t.task_id, t.fence, t.cancel_requested).where(ours))
    kept = {row.task_id: row.cancel_requested for row in rows if row.fence == held[row.task_id]}
    extend = update(tasks).where(ours, t.task_id.in_(list(kept))).values(lease_until=now + ttl)
    connection.execute(extend)
    return kept


def let_go(connection: Connection, worker: str | None, now: float) -> None:
    """End the leases of a worker that is dead (None: of all). Its tasks stay marked as held: that counts a try."""
    dead = and_(t.worker.is_not(None), t.state != TaskState.DONE)
    if worker is not None:
        dead = and_(dead, t.worker == worker)
    connection.execute(update(tasks).where(dead).values(lease_until=now))


def request_cancel(connection: Connection, task_id: str, now: float) -> bool:
    """Anybody may ask. False where the task is done or not known."""
    wanted = update(tasks).where(t.task_id == clean(task_id), t.state != TaskState.DONE)
    return connection.execute(wanted.values(cancel_requested=True, updated_at=now)).rowcount == 1
