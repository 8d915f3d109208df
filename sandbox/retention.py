"""Sandboxes that nobody has used for long are removed; never one that runs something, or that could not be asked."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable

from sandbox import Unreachable
from sandbox.context import Context
from sandbox.job import NAME_PATTERN
from sandbox.state import Used

_log = logging.getLogger(__name__)


def due(used: float, now: float, retention: float) -> bool:
    """Seconds since 1970, and for how long one is kept. A clock that went back makes nothing due."""
    return now - used >= retention


async def expire(context: Context, name: str, remove: Callable[[str], Awaitable[None]]) -> None:
    """Remove this one where it is due. One whose last use is not known is used now: its time begins."""
    state, now = context.state(name), context.clock()
    used = await context.disk.run(state.used)
    if used is None:
        await context.disk.run(lambda: state.set_used(Used(at=now)))
        return
    if not due(used.at, now, context.settings.retention_seconds):
        return
    agent = await context.engine.look(context.names(name).of("agent"))
    if agent is not None and agent.running:
        return
    _log.info("%s: not used for %.0f s, and removed", name, now - used.at)
    await remove(name)


async def known(context: Context) -> tuple[str, ...]:
    """Every sandbox that has a state folder, or a container or a volume."""
    found = await context.engine.find(context.settings.instance)
    labelled = {item.sandbox for item in (*found.containers, *found.volumes)}
    names = labelled | set(await context.disk.run(context.states.names))
    return tuple(sorted(name for name in names if re.fullmatch(NAME_PATTERN, name)))


async def sweep(context: Context, one: Callable[[str], Awaitable[None]]) -> None:
    """``one`` for each; one that cannot be asked about now is left for the next sweep. Raises ``Unreachable``."""
    for name in await known(context):
        try:
            await one(name)
        except (Unreachable, OSError) as error:
            _log.warning("%s: whether it is still used could not be told: %s", name, error)
