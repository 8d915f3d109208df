"""Older comments of ours on a thread are hidden as out of date when a new task begins there: the newest is what counts.

Once for a task, and never anybody else's: what the store remembers as ours is asked of GitHub before it is hidden.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from bot.github import GitHubRefused, GitHubUnavailable
from bot.github_installations import to_write
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import TaskState

_log = logging.getLogger(__name__)


async def tidy(world: World, task: Task) -> Task:
    """Begin to hide them, beside the task: nothing waits for it, and what fails is left as it is."""
    request = task.request
    if task.work.tidied or task.status_comment_id is None:
        return task
    ids = older(task, await world.store.of_thread(request.repository.id, request.thread))
    task = await world.store.set_work(task, task.work.model_copy(update={"tidied": True}))
    if ids:
        world.later(_hide(world, task, ids), "tidy")
    return task


def older(task: Task, of_thread: Iterable[Task]) -> tuple[int, ...]:
    """Comments of earlier tasks that are done; ``of_thread`` is newest first. Pure.

    What lies behind one that has tidied up itself was hidden then.
    """
    found: dict[int, None] = {}
    for one in of_thread:
        if one.seq >= task.seq:
            continue
        if one.state is TaskState.DONE:
            found |= {made: None for made in (one.result_comment_id, one.status_comment_id) if made is not None}
        if one.work.tidied:
            break
    return tuple(made for made in found if made != task.status_comment_id)


async def _hide(world: World, task: Task, ids: tuple[int, ...]) -> None:
    permissions = to_write(task.request.is_pull_request)
    for comment_id in ids:
        try:
            await world.github.conversation.outdate(where_of(task), comment_id, permissions)
        except (GitHubRefused, GitHubUnavailable) as error:
            _log.info("task %s: an older comment is not hidden: %s", task.task_id, error)
