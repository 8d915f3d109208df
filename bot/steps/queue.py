"""The waiting tasks: each shows its position, and a new one when it has moved up."""

from __future__ import annotations

import logging

from bot.comments import queued
from bot.github import GitHubUnavailable
from bot.steps import talk
from bot.steps.asks import place_in_line
from bot.steps.intervals import past
from bot.steps.progress import SHORTEST
from bot.steps.talk import Unwelcome
from bot.steps.world import World
from bot.store import LeaseLost

_log = logging.getLogger(__name__)

# Positions shown in one round. The rest come with the next one: it bounds the burst of requests to GitHub.
AT_ONCE = 10


class Positions:
    """Remembers when each position was shown, so that a comment changes at most every 15 s."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._shown_at: dict[str, float] = {}

    async def show(self) -> None:
        """One round over the queue. Raises nothing of GitHub's: the next round says it again."""
        queue = await self._world.store.queue()
        now = self._world.clock.now()
        self._shown_at = {name: self._shown_at.get(name, now) for name, _ in queue}
        moved = [
            name
            for position, (name, shown) in enumerate(queue, 1)
            if shown != position and past(now, self._shown_at[name], SHORTEST)
        ]
        for name in moved[:AT_ONCE]:
            self._shown_at[name] = now
            await self._show_one(name)

    async def _show_one(self, task_id: str) -> None:
        """Held while it is shown, so that the words never come after those of a worker who has started it."""
        store = self._world.store
        task = await store.claim_waiting(self._world.rules.worker, task_id)
        if task is None:
            return
        try:
            position, ahead = await place_in_line(self._world, task_id)
            task = await talk.show(self._world, task, queued(position, ahead))
            task = await store.set_position(task, position)
        except GitHubUnavailable as error:
            _log.info("task %s: position not shown: %s", task_id, error)
        except Unwelcome as error:
            _log.warning("task %s: GitHub takes no comment there: %s", task_id, error)
            await store.finish(task, "undeliverable")
        except LeaseLost:
            return
        finally:
            await store.release(task)
