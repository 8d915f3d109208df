"""Alembic runs this file for every command; `bot.store.migrate` hands it the connection.

To add a migration: change `bot/store/schema.py`, write `versions/vNNNN_what.py` beside the last one, and its sample
rows in tests/bot/store/test_migrate.py.
"""

from __future__ import annotations

from alembic import context

from bot.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite cannot alter most things in place: Alembic then copies the table.
    render_as_batch=True,
)
context.run_migrations()
