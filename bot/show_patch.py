"""``gofer patch TASK``: the whole stored patch, for what was too long for a comment or could not be posted."""

from __future__ import annotations

import sys

from bot.config import Places, read
from bot.store import Store, must_exist


async def show_patch(task_id: str) -> int:
    """The patch to stdout, byte for byte; 1 and a line on stderr where there is none."""
    database = read(Places).database
    must_exist(database)
    store = await Store.open(database)
    try:
        task, patch = await store.task(task_id), await store.patch(task_id)
    finally:
        await store.close()
    if patch is None:
        words = f"there is no task {task_id!r}" if task is None else f"task {task_id} has no patch ({task.state})"
        print(f"gofer: {words}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(patch)
    sys.stdout.buffer.flush()
    return 0
