"""Sandboxes that belong to no unfinished task: a crash or a database made anew left them."""

from __future__ import annotations

import logging

from bot.jobs import names_a_task
from bot.steps.world import World
from sandbox import Unreachable

_log = logging.getLogger(__name__)


async def sweep(world: World) -> bool:
    """Remove them. False where the engine could not be asked: nothing is known then, and nothing removed.

    The engine is asked first, the rows after: a sandbox's name is on its row before it is made, so one that is seen
    and has no row is nobody's.
    """
    try:
        seen = await world.sandbox.handles()
        owned = await world.store.handles()
        for handle in seen:
            if names_a_task(handle.name) and handle.name not in owned:
                _log.warning("sandbox %s belongs to no task and is removed", handle.name)
                await world.sandbox.remove(handle)
    except Unreachable as error:
        _log.warning("the engine cannot be asked for what is left: %s", error)
        return False
    world.untidy.clear()
    return True
