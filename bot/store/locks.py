"""Locks between processes: who is a worker, who claims, who migrates, who adds a label's task."""

from __future__ import annotations

import fcntl
import os
import zlib

from sqlalchemy import Connection, Engine, text

from bot.store.engine import StoreError

# First halves of our advisory lock keys in PostgreSQL ("gofr" in ASCII, counted up), so that nothing else meets them.
CLAIM_SPACE = 0x676F6672
WORKER_SPACE = 0x676F6673
MIGRATE_SPACE = 0x676F6674
LABEL_SPACE = 0x676F6675


def _key(name: str) -> int:
    return zlib.crc32(name.encode()) - 2**31


def serialise(connection: Connection, space: int) -> None:
    """One transaction at a time past this point, until it ends. SQLite's are serial anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:space, 0)"), {"space": space})


class WorkerLock:
    """At most one living process a worker name, and with SQLite one worker at all. Held until ``close`` or death."""

    def __init__(self, engine: Engine, worker: str) -> None:
        """Raises ``StoreError`` where another process holds it."""
        self._file: int | None = None
        self._connection: Connection | None = None
        if engine.dialect.name == "sqlite":
            self._file = os.open(f"{engine.url.database}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.close()
                raise StoreError("another gofer serve is running on this SQLite database") from None
            return
        self._connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        got = self._connection.execute(
            text("SELECT pg_try_advisory_lock(:space, :key)"),
            {"space": WORKER_SPACE, "key": _key(worker)},
        ).scalar_one()
        if not got:
            self.close()
            raise StoreError(f"another gofer serve is running as {worker!r} on this database")

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        if self._connection is not None:
            self._connection.invalidate()  # ends the session, and with it the lock
            self._connection.close()
        self._file = self._connection = None
