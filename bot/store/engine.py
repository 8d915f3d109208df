"""Opening the database, and the one way to run a transaction."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

T = TypeVar("T")

# Milliseconds. Another process (`gofer patch`) may hold the file for the length of one transaction.
SQLITE_BUSY_MS = 10_000
# Connections, and the threads that use them. SQLite has one writer, so more would only wait for each other.
SQLITE_THREADS = 1
POSTGRESQL_THREADS = 4
# Seconds to wait before each repetition of a transaction whose connection broke: a restart of PostgreSQL takes
# seconds. After the last one the error goes to the caller.
RECONNECT_AFTER = (0.1, 0.3, 1.0, 3.0, 5.0)


class StoreError(Exception):
    """The database cannot be used; ``str()`` says to the operator what to do. Never holds a password."""


def parse_url(url: str) -> URL:
    """``sqlite:///PATH`` or ``postgresql://…`` (always through psycopg)."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise StoreError("the database URL cannot be read; use sqlite:////absolute/path or postgresql://…") from None
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() == "sqlite":
        if parsed.database in {None, "", ":memory:"}:
            raise StoreError("the database must be a file: tasks have to outlive the process")
        return parsed
    raise StoreError(f"no such kind of database: {parsed.drivername}; use sqlite or postgresql")


def threads_for(url: URL) -> int:
    return SQLITE_THREADS if url.get_backend_name() == "sqlite" else POSTGRESQL_THREADS


def make_engine(url: URL) -> Engine:
    """An engine whose transactions are serial on SQLite and durable on both. Connects to nothing yet."""
    if url.get_backend_name() == "postgresql":
        return create_engine(url, pool_size=POSTGRESQL_THREADS, max_overflow=1, pool_pre_ping=True)
    check_directory(Path(str(url.database)))
    engine = create_engine(url, connect_args={"timeout": SQLITE_BUSY_MS / 1000, "check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def must_exist(url: str) -> None:
    """Raises ``StoreError`` where the SQLite file is not there: who only reads should not make one."""
    parsed = parse_url(url)
    if parsed.get_backend_name() != "sqlite":
        return
    path = Path(str(parsed.database)).absolute()
    try:
        there = path.exists()
    except OSError as error:  # most likely another user's
        raise StoreError(f"{path} cannot be looked at ({error.strerror}); ask as the server's user") from None
    if not there:
        raise StoreError(
            f"there is no database at {path}; set GOFER_STATE_DIR or GOFER_DATABASE_URL as the server has it"
        )


def check_directory(database: Path) -> None:
    """SQLite's own words are "unable to open database file" whatever the reason."""
    folder = database.absolute().parent
    if not folder.is_dir():
        raise StoreError(f"the directory of the database is not there: {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreError(f"the directory of the database is not writable: {folder}")
    if database.exists() and not os.access(database, os.R_OK | os.W_OK):
        raise StoreError(f"the database is not readable and writable: {database}")


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the "begin" listener begins; the driver must not do so on its own
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def transact(engine: Engine, body: Callable[[Connection], T]) -> T:
    """Run ``body`` in one transaction. Repeated where the connection broke, so ``body`` must be safe to repeat."""
    for pause in (*RECONNECT_AFTER, None):
        try:
            with engine.begin() as connection:
                return body(connection)
        except DBAPIError as error:
            if pause is None or not broken(error):
                raise
            time.sleep(pause)
    raise AssertionError("unreachable")


def broken(error: DBAPIError) -> bool:
    """Whether the connection is at fault: SQLAlchemy saw it die, or none could be made (PostgreSQL is restarting)."""
    if error.connection_invalidated:
        return True
    return isinstance(error, OperationalError) and type(error.orig).__module__.startswith("psycopg")
