"""The one place where asyncio tasks are made: each has a name, is kept alive, and its death is never silent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)
_alive: set[asyncio.Task[Any]] = set()


def spawn(work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
    """Run ``work`` beside the caller, in the running loop.

    The task is held until it ends (the loop itself keeps only a weak reference). An exception that nobody awaits is
    logged with the task's name; cancelling is the caller's business and is not logged.
    """
    task = asyncio.get_running_loop().create_task(work, name=name)
    _alive.add(task)
    task.add_done_callback(_ended)
    return task


def _ended(task: asyncio.Task[Any]) -> None:
    _alive.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("background task %s died", task.get_name(), exc_info=error)
