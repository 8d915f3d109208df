"""The tables. A change here needs a migration beside it: a test holds the two equal.

Times are seconds since the epoch (UTC) as floats: both databases compare them alike. JSON is kept as text: nothing
is ever searched in it, and PostgreSQL's jsonb refuses characters that text takes.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    false,
    text,
)

# Constraint names are fixed so that later migrations can name what they change on either database.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite numbers rows by itself only where the key's type is exactly INTEGER.
Sequence = BigInteger().with_variant(Integer(), "sqlite")

tasks = Table(
    "tasks",
    metadata,
    Column("seq", Sequence, primary_key=True, autoincrement=True),  # the order of arrival
    Column("task_id", Text, nullable=False, unique=True),  # random: outlives a database that is made anew
    Column("delivery_id", Text, nullable=False, unique=True),
    Column("content_key", Text, nullable=False, unique=True),
    Column("request", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("thread", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("ending", Text),
    Column("handle", Text),
    Column("status_comment_id", BigInteger),
    Column("result_comment_id", BigInteger),
    Column("shown_position", Integer),
    Column("worker", Text),
    Column("lease_until", Double, nullable=False, server_default=text("0")),
    Column("fence", Integer, nullable=False, server_default=text("0")),
    Column("attempts", Integer, nullable=False, server_default=text("0")),  # times it was taken over from the dead
    Column("retries", Integer, nullable=False, server_default=text("0")),  # times in a row it was put off
    Column("cancel_requested", Boolean, nullable=False, server_default=false()),
    Column("created_at", Double, nullable=False),
    Column("admitted_at", Double),  # the asker may; it waits for a free place from now on
    Column("started_at", Double),  # it has a place
    Column("updated_at", Double, nullable=False),
    Column("finished_at", Double),
    # Null in rows of the time before these were kept apart from the request.
    Column("installation_id", BigInteger),
    Column("comment_id", BigInteger),
    Column("sender_id", BigInteger),
    Column("work", Text),  # bot.work.Work as JSON
    sqlite_autoincrement=True,
)

# Every question of the loop is about unfinished tasks, of which there are few among many finished ones.
_unfinished = text("state <> 'done'")
Index("ix_tasks_open", tasks.c.seq, sqlite_where=_unfinished, postgresql_where=_unfinished)
Index(
    "ix_tasks_open_thread",
    tasks.c.repository_id,
    tasks.c.thread,
    sqlite_where=_unfinished,
    postgresql_where=_unfinished,
)

# What somebody has asked for lately, and the last task of a thread.
Index("ix_tasks_sender_id_created_at", tasks.c.sender_id, tasks.c.created_at)
Index("ix_tasks_repository_id_thread_seq", tasks.c.repository_id, tasks.c.thread, tasks.c.seq)

# Apart from the row that is read and written all the time: a patch may be many megabytes.
results = Table(
    "results",
    metadata,
    Column("task_id", Text, ForeignKey("tasks.task_id"), primary_key=True),
    Column("outcome", Text, nullable=False),  # without the patch
    Column("patch", LargeBinary),
    Column("contents", LargeBinary),  # what the changed files hold: bot.store.contents
)

# The pull requests that this bot has opened.
pulls = Table(
    "pulls",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("thread", BigInteger, nullable=False),
    Column("branch", Text, nullable=False),
    Column("sha", Text, nullable=False),
    Column("rounds", Integer, nullable=False, server_default=text("0")),
    Column("task_id", Text, nullable=False),
)
Index("ix_pulls_repository_id_thread", pulls.c.repository_id, pulls.c.thread)
