"""Every migration over rows that were there before it, and the schema that comes out."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text

from bot.store import Store, StoreError
from bot.store.engine import make_engine, parse_url
from bot.store.migrate import MIGRATIONS, migrate
from bot.store.schema import metadata

# For each revision: rows as they looked then, put in right after it. The next one's data must survive it.
SAMPLES: dict[str, list[str]] = {
    "0001": [
        "INSERT INTO tasks (task_id, delivery_id, content_key, request, verb, repository_id, thread, state,"
        " created_at, updated_at) VALUES ('a1', 'd1', 'c1', '{}', 'run', 1, 2, 'done', 1.5, 2.5)",
        "INSERT INTO results (task_id, outcome, patch) VALUES ('a1', '{}', NULL)",
    ],
    "0002": [
        "UPDATE tasks SET work = '{}', sender_id = 3",
        "INSERT INTO pulls (repository_id, number, thread, branch, sha, task_id)"
        " VALUES (1, 5, 2, 'agent/2-a1', 'c', 'a1')",
    ],
}


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = make_engine(parse_url(url))
    yield made
    made.dispose()


def revisions() -> list[str]:
    scripts = list(ScriptDirectory(str(MIGRATIONS)).walk_revisions())
    return [script.revision for script in reversed(scripts)]


def test_every_migration_has_sample_rows() -> None:
    assert list(SAMPLES) == revisions()


def test_every_migration_keeps_the_rows_of_the_one_before(engine: Engine) -> None:
    for revision in revisions():
        migrate(engine, revision)
        with engine.begin() as connection:
            for statement in SAMPLES[revision]:
                connection.execute(text(statement))
    with engine.begin() as connection:
        assert connection.execute(text("SELECT delivery_id FROM tasks")).scalars().all() == ["d1"]


def test_migrated_schema_is_the_one_the_code_has(engine: Engine) -> None:
    migrate(engine)
    with engine.begin() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_migrating_twice_changes_nothing(engine: Engine) -> None:
    migrate(engine)
    migrate(engine)


def test_numbers_of_removed_rows_never_come_back(engine: Engine) -> None:
    migrate(engine)
    with engine.begin() as connection:
        for statement in SAMPLES["0001"][:1]:
            connection.execute(text(statement))
        connection.execute(text("DELETE FROM tasks"))
        connection.execute(text(SAMPLES["0001"][0]))
        assert connection.execute(text("SELECT seq FROM tasks")).scalar_one() == 2


async def test_database_of_a_newer_version_is_refused_in_words(url: str) -> None:
    await (await Store.open(url)).close()
    engine = make_engine(parse_url(url))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StoreError, match="newer version of Gofer"):
        await Store.open(url)


def test_every_migration_ships_in_the_wheel() -> None:
    project = tomllib.loads((MIGRATIONS.parent.parent / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["bot"]
    shipped = {path for pattern in patterns for path in MIGRATIONS.parent.glob(pattern)}
    needed = {path for path in MIGRATIONS.rglob("*.py") if "__pycache__" not in path.parts}
    assert needed <= shipped
