"""The status comment while the agent works: how often it changes, and that it never holds anything up."""

from __future__ import annotations

import asyncio
import logging

from bot.comments import working
from bot.github import GitHubUnavailable
from bot.steps import talk
from bot.steps.intervals import past
from bot.steps.world import World
from bot.store import Task
from sandbox import Phase, Status, spawn

_log = logging.getLogger(__name__)

# Seconds between two changes of the comment, at least. The longer the task has run, the less often: GitHub counts
# changes as content (500 an hour for the whole installation), and many tasks may run at once.
SHORTEST = 15.0
SHARE_OF_ELAPSED = 0.1
# Seconds that a change under way may take until the result replaces it. A change that came after the result would
# undo it.
LAST_CHANGE = 2.0


def due(now: float, changed_at: float, elapsed: float) -> bool:
    """Whether the comment may change again. Pure."""
    return past(now, changed_at, max(SHORTEST, SHARE_OF_ELAPSED * elapsed))


class Progress:
    """The status comment of one running task. Changes run beside the watching: GitHub may be slow for minutes."""

    def __init__(self, world: World, task: Task) -> None:
        self._world = world
        self._task = task
        self._changed_at = 0.0
        self._body = ""
        self._changing: asyncio.Task[None] | None = None

    def see(self, status: Status) -> None:
        """Show ``status`` if it is time and something is new. Returns at once."""
        now = self._world.clock.now()
        body = working(status.elapsed_seconds, status.progress)
        busy = self._changing is not None and not self._changing.done()
        if status.phase is not Phase.RUNNING or busy or body == self._body:
            return
        if due(now, self._changed_at, status.elapsed_seconds):
            self._changed_at, self._body = now, body
            self._changing = spawn(self._change(body), name=f"progress-{self._task.task_id}")

    async def end(self) -> None:
        """No change of ours comes after this returns. Cancelled, the same."""
        changing, self._changing = self._changing, None
        if changing is None or changing.done():
            return
        try:
            await asyncio.wait([changing], timeout=LAST_CHANGE)
        finally:
            changing.cancel()
        await asyncio.wait([changing])

    async def _change(self, body: str) -> None:
        try:
            await talk.edit(self._world, self._task, body)
        except GitHubUnavailable as error:
            _log.info("task %s: progress not shown: %s", self._task.task_id, error)
