"""The database: one row a task, and the row is the queue.

`Store` is the facade that the rest of `bot` uses; the files beside it are one idea each. SQLite by default, the same
statements on PostgreSQL.
"""

from __future__ import annotations

from bot.store.claim import Caps
from bot.store.engine import StoreError, must_exist
from bot.store.rows import Task
from bot.store.store import Store
from bot.store.writes import LeaseLost

__all__ = ["Caps", "LeaseLost", "Store", "StoreError", "Task", "must_exist"]
