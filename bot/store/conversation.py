"""What is asked of the database about a thread and about people. Runs inside a transaction of `Store`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from bot.store.rows import Task, task_of
from bot.store.schema import pulls, results, tasks
from bot.tasks import Request, TaskState, Verb
from bot.work import Pull

t = tasks.c
p = pulls.c


# Verbs whose tasks bring work, or bring it again; the others only answer.
WORKING = (Verb.RUN, Verb.RETRY, Verb.PR, Verb.DIFF)


def of_thread(connection: Connection, repository_id: int, thread: int, most: int) -> list[Task]:
    """Tasks that bring work there, the newest first."""
    wanted = (
        select(tasks)
        .where(t.repository_id == repository_id, t.thread == thread, t.verb.in_(WORKING))
        .order_by(t.seq.desc())
        .limit(most)
    )
    return [task_of(row._mapping) for row in connection.execute(wanted)]


def with_result(connection: Connection, repository_id: int, thread: int) -> Task | None:
    """The newest finished task of a thread that has a stored patch, empty ones not counted."""
    wanted = (
        select(tasks)
        .join(results, results.c.task_id == t.task_id)
        .where(
            t.repository_id == repository_id, t.thread == thread, t.state.in_([TaskState.DONE, TaskState.PUBLISHING])
        )
        .where(func.length(results.c.patch) > 0)
        .order_by(t.seq.desc())
        .limit(1)
    )
    row = connection.execute(wanted).one_or_none()
    return None if row is None else task_of(row._mapping)


def asked_since(connection: Connection, since: float, **whose: int) -> list[float]:
    """When tasks that run an agent were made since then, oldest first; ``whose``: sender_id, repository_id or none."""
    wanted = select(t.created_at).where(t.created_at >= since, t.verb == Verb.RUN).order_by(t.created_at)
    for name, value in whose.items():
        wanted = wanted.where(tasks.c[name] == value)
    # refused ones cost nothing, and must not be a way to lock somebody out
    return list(connection.execute(wanted.where(t.admitted_at.is_not(None))).scalars())


def asked_in(connection: Connection, most: int) -> list[tuple[Request, Request]]:
    """The first and the newest request of each repository, those asked in last first."""
    ends = select(func.min(t.seq).label("first"), func.max(t.seq).label("last")).group_by(t.repository_id)
    found = connection.execute(ends.order_by(func.max(t.seq).desc()).limit(most)).all()
    wanted = select(t.seq, t.request).where(t.seq.in_([seq for pair in found for seq in pair]))
    requests = {row.seq: Request.model_validate_json(row.request) for row in connection.execute(wanted)}
    return [(requests[first], requests[last]) for first, last in found]


def pull(connection: Connection, repository_id: int, number: int) -> Pull | None:
    """One of ours by its number."""
    row = connection.execute(select(pulls).where(p.repository_id == repository_id, p.number == number)).one_or_none()
    return None if row is None else Pull.model_validate(dict(row._mapping))


def pulls_in(connection: Connection, repository_id: int, most: int) -> list[int]:
    """The numbers of ours, the newest first."""
    wanted = select(p.number).where(p.repository_id == repository_id).order_by(p.number.desc()).limit(most)
    return list(connection.execute(wanted).scalars())


def pull_of_thread(connection: Connection, repository_id: int, thread: int) -> Pull | None:
    """The newest that was asked for on a thread."""
    wanted = (
        select(pulls).where(p.repository_id == repository_id, p.thread == thread).order_by(p.number.desc()).limit(1)
    )
    row = connection.execute(wanted).one_or_none()
    return None if row is None else Pull.model_validate(dict(row._mapping))


def save_pull(connection: Connection, saved: Pull) -> None:
    """Insert it, or replace what was known of it. Safe to repeat."""
    values: dict[str, Any] = saved.model_dump()
    done = connection.execute(
        update(pulls).where(p.repository_id == saved.repository_id, p.number == saved.number).values(**values)
    )
    if not done.rowcount:
        connection.execute(insert(pulls).values(**values))
