"""Opening the database: how durable, and what the operator is told."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import ProgrammingError

from bot.store import Store, StoreError
from bot.store.engine import make_engine, parse_url, transact
from tests.bot.requests import a_request


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "cannot be read"),
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
        ("mysql://user:hunter2@host/db", "no such kind of database: mysql"),
        ("sqlite:////no/such/folder/gofer.db", "not there: /no/such/folder"),
    ],
)
async def test_bad_database_url_is_refused_in_words(url: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        await Store.open(url)
    assert "hunter2" not in str(caught.value)


async def test_unreachable_server_is_an_error_without_the_password() -> None:
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        await Store.open("postgresql://gofer:hunter2@127.0.0.1:1/db?connect_timeout=1")
    assert "hunter2" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_read_only_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)  # noqa: ASYNC240
    with pytest.raises(StoreError, match="not writable"):
        await Store.open(f"sqlite:///{tmp_path}/gofer.db")


async def test_file_that_is_no_database_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "gofer.db").write_text("this is not a database, whatever its name says" * 100)
    with pytest.raises(StoreError, match="not a database"):
        await Store.open(f"sqlite:///{tmp_path}/gofer.db")


def test_sqlite_waits_for_the_disk_at_every_commit(tmp_path: Path) -> None:
    engine = make_engine(parse_url(f"sqlite:///{tmp_path}/gofer.db"))
    with engine.begin() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
    engine.dispose()


@pytest.mark.postgresql
async def test_restart_of_the_server_loses_nothing_and_stops_nobody(cluster: str) -> None:
    """Every connection is cut from outside, as a restart of PostgreSQL does."""
    url = f"postgresql://gofer@/postgres?host={cluster}"
    store = await Store.open(url)
    for _ in range(3):
        with psycopg.connect(host=cluster, user="gofer", dbname="postgres", autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
            )
        assert await store.add(a_request())
    await store.close()


@pytest.mark.postgresql
def test_connection_cut_amid_a_transaction_repeats_it_whole(cluster: str) -> None:
    engine = make_engine(parse_url(f"postgresql://gofer@/postgres?host={cluster}"))
    tries = []

    def body(connection: Connection) -> int:
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        tries.append(pid)
        if len(tries) == 1:
            with psycopg.connect(host=cluster, user="gofer", dbname="postgres", autocommit=True) as admin:
                admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
        return int(connection.execute(text("SELECT 42")).scalar_one())

    assert transact(engine, body) == 42
    assert len(tries) == 2
    engine.dispose()


def test_error_of_ours_is_not_repeated(url: str) -> None:
    engine = make_engine(parse_url(url))
    tries = []

    def body(connection: Connection) -> None:
        tries.append(1)
        connection.execute(text("SELECT nonsense FROM nowhere"))

    with pytest.raises(Exception, match="nowhere") as caught:
        transact(engine, body)
    assert isinstance(caught.value, ProgrammingError) or "no such table" in str(caught.value)
    assert len(tries) == 1
    engine.dispose()
