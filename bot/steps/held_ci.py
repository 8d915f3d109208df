"""CI of our pull request that waits for somebody: told where a person looks anyway, never polled for."""

from __future__ import annotations

import logging

from bot import conversation_words as said
from bot.github import GitHubRefused, GitHubUnavailable
from bot.steps.world import World, where_of
from bot.store import Task

_log = logging.getLogger(__name__)


async def held(world: World, task: Task) -> str:
    """A sentence where GitHub holds the workflows of the thread's pull request of ours back. Empty where it does not,
    where nobody can say, and where the pull request is closed or has somebody else's head by now.

    Asked at ``status``, and when a task ends: of what was pushed before it, since of what it pushes itself GitHub has
    made no workflows yet.
    """
    request, store = task.request, world.store
    ours = await (store.pull if request.is_pull_request else store.pull_of_thread)(
        request.repository.id, request.thread
    )
    if ours is None:
        return ""
    try:
        if not await world.github.checks.held(where_of(task), ours.sha):
            return ""
        pull = await world.github.threads.pull(where_of(task), ours.number)
    except (GitHubRefused, GitHubUnavailable) as error:
        _log.info("task %s: whether CI of #%d is held back cannot be asked: %s", task.task_id, ours.number, error)
        return ""
    current = pull.state == "open" and pull.head.sha == ours.sha
    return said.ci_held(ours.number, ours.sha) if current else ""
