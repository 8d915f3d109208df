"""The door of the queue: a request becomes a task once. Runs inside a transaction of `Store`."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Dialect, bindparam
from sqlalchemy.dialects import postgresql, sqlite

from bot.store import labelled
from bot.store.locks import LABEL_SPACE, serialise
from bot.store.rows import columns_of
from bot.store.schema import tasks
from bot.tasks import Request, TaskState

# Bytes of a task's id. Random, not counted: the id is in a marker on GitHub, and must not come back when a database
# is lost and made anew. 40 bits: with a million tasks in a database one collision in two is far off, and a
# collision is only a delivery refused as known.
ID_BYTES = 5

GIVEN = (
    "task_id",
    "delivery_id",
    "content_key",
    "request",
    "verb",
    "repository_id",
    "thread",
    "installation_id",
    "comment_id",
    "sender_id",
    "state",
    "created_at",
    "updated_at",
)
"""The columns of a new task; the others have defaults."""


def add(connection: Connection, requests: Sequence[Request], now: float) -> list[bool]:
    """One row a request; False for a delivery id or a content key that is already there.

    The unique constraints decide, not a look beforehand: of any number at the same moment one wins. For labels they do
    not suffice (see ``labelled``), so theirs are added one transaction at a time.
    """
    if any(request.trigger == "label" for request in requests):
        serialise(connection, LABEL_SPACE)  # before the first row, so that nobody waits for us meanwhile
    return [_add_one(connection, request, now) for request in requests]


def _add_one(connection: Connection, request: Request, now: float) -> bool:
    if request.trigger == "label" and labelled.is_known(connection, request):
        return False
    values = {
        **columns_of(request),
        "task_id": secrets.token_hex(ID_BYTES),
        "state": TaskState.QUEUED.value,
        "created_at": now,
        "updated_at": now,
    }
    text, order = _statement(connection.dialect)
    found = connection.exec_driver_sql(text, tuple(values[name] for name in order) if order else values)
    return found.scalar_one_or_none() is not None


@cache
def _statement(dialect: Dialect) -> tuple[str, tuple[str, ...]]:
    """The statement in the driver's words, and the order of its parameters where they go by place.

    Compiled once: going through it anew for each row would cost more than the insert itself. No column of ``GIVEN``
    has a type that needs converting.
    """
    insert = sqlite.insert if dialect.name == "sqlite" else postgresql.insert
    columns: dict[str, Any] = {name: bindparam(name) for name in GIVEN}
    statement = insert(tasks).values(columns).on_conflict_do_nothing().returning(tasks.c.seq)
    compiled = statement.compile(dialect=dialect)
    return str(compiled), tuple(getattr(compiled, "positiontup", None) or ())
