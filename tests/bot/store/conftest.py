"""Every store test runs on SQLite in a file, and again on a PostgreSQL cluster of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from bot.store import Store
from tests.bot.clock import Clock

# Seconds to wait for `pg_ctl start` and `stop`.
SERVER_SECONDS = "30"


def program(name: str) -> str | None:
    """A server program: Debian keeps them off PATH."""
    return shutil.which(name) or next((str(p) for p in Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), None)


def as_server(folder: Path, *argv: str) -> None:
    """Run a server program; PostgreSQL refuses to run as root."""
    command = list(argv)
    if os.geteuid() == 0:
        command = ["runuser", "-u", "postgres", "--", *command]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{argv[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The folder of a running cluster's socket."""
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    if initdb is None or pg_ctl is None:
        if os.environ.get("CI") == "true":
            raise RuntimeError("no PostgreSQL server programs: install postgresql")
        pytest.skip("NO POSTGRESQL: initdb and pg_ctl are not installed; the store was tested on SQLite only")
    folder = Path(tempfile.mkdtemp(prefix="gofer-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    data = str(folder / "data")
    try:
        as_server(folder, initdb, "-D", data, "-A", "trust", "-U", "gofer", "-E", "UTF8", "--no-sync")
        log = str(folder / "log")
        as_server(folder, pg_ctl, "-D", data, "-w", "-t", SERVER_SECONDS, "-o", options, "-l", log, "start")
        yield str(folder)
        as_server(folder, pg_ctl, "-D", data, "-w", "-t", SERVER_SECONDS, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/gofer.db"
        return
    folder = request.getfixturevalue("cluster")
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(host=folder, user="gofer", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    yield f"postgresql://gofer@/{name}?host={folder}"
    with psycopg.connect(host=folder, user="gofer", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(url: str, clock: Clock) -> AsyncIterator[Store]:
    opened = await Store.open(url, clock=clock)
    yield opened
    await opened.close()
