"""Bring a database to the schema of this version, at every start."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from bot.store.engine import StoreError
from bot.store.locks import MIGRATE_SPACE, serialise

MIGRATIONS = Path(__file__).parent.parent / "migrations"


def migrate(engine: Engine, to: str = "head") -> None:
    """Apply what is missing, in one transaction; two servers that start at once do it one after the other.

    Raises ``StoreError`` where the database was made by a newer version.
    """
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.begin() as connection:
        serialise(connection, MIGRATE_SPACE)
        _refuse_newer(connection, ScriptDirectory.from_config(config))
        config.attributes["connection"] = connection
        command.upgrade(config, to)


def _refuse_newer(connection: Connection, scripts: ScriptDirectory) -> None:
    known = {script.revision for script in scripts.walk_revisions()}
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in known:
        raise StoreError(f"the database was made by a newer version of Gofer (schema {found}); upgrade Gofer")
