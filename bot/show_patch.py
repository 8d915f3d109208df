"""``gofer patch TASK``: the whole stored patch, for what was too long for a comment or could not be posted."""

from __future__ import annotations

import os
import sys

from bot.config import Places, read
from bot.store import Store, must_exist


async def show_patch(task_id: str) -> int:
    """The patch to stdout, byte for byte; 1 and a line on stderr where there is none."""
    database = read(Places).database
    must_exist(database)
    store = await Store.open(database)
    try:
        patch = await store.patch(task_id)
        words = "" if patch is not None else await _why_not(store, task_id)
    finally:
        await store.close()
    if patch is None:
        print(f"gofer: {words}", file=sys.stderr)
        return 1
    try:
        # Through a descriptor of our own, so that the interpreter does not try again at its end.
        with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
            out.write(patch)
    except OSError as error:  # a full disk, a pipe that has ended
        print(f"gofer: the patch could not be written whole: {error.strerror}", file=sys.stderr)
        return 1
    return 0


async def _why_not(store: Store, task_id: str) -> str:
    try:
        task = await store.task(task_id)
    except ValueError:
        return f"task {task_id} cannot be read; another version of Gofer may have written it"
    return f"there is no task {task_id!r}" if task is None else f"task {task_id} has no patch ({task.state})"
