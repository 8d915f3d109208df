"""Find and remove everything of a sandbox, whole or half-made. Safe to repeat; what is gone already is fine."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from sandbox import Unreachable
from sandbox.context import Context
from sandbox.engine import LABEL_INSTANCE, Refused
from sandbox.engines.names import VOLUME_ROLES, images_volume, network
from sandbox.helpers import STORE_SECONDS, HelperFailed, store
from sandbox.job import NAME_PATTERN
from sandbox.kept import remove_all

STORE_ROLE = "store"
LASTING_ROLES = ("ws", "clean")  # volumes that outlive a task
# From a helper's end (or its making) to its removal by the process that runs it: milliseconds.
OWNER_SECONDS = 1.5
CONFLICT = 409
# An engine lets go of a volume a moment after its container has gone, and a call that was given up may still make a
# container meanwhile. Longer than this is somebody who keeps it.
IN_USE_SECONDS = 5.0
AGAIN_SECONDS = 0.1


async def traces(context: Context, sandbox: str) -> bool:
    """Whether a container, a volume or a state folder of this name is there. (Loop devices alone do not show.)"""
    if await context.disk.run(context.state(sandbox).exists):
        return True
    found = await context.engine.find(context.settings.instance, sandbox)
    return bool(found.containers or found.volumes)


async def everyone(context: Context) -> set[str]:
    """The names of all sandboxes of this instance of which anything is left, loop devices included."""
    found = await context.engine.find(context.settings.instance)
    labelled = {item.sandbox for item in (*found.containers, *found.volumes)}
    folders = set(await context.disk.run(context.states.names))
    devices: set[str] = set()
    if await _has_images(context):
        answer = await _store(context, "", "list")
        devices = {str(name) for name in answer["names"]}
    # a folder or label that is no name of ours is somebody else's; a device's name may have been cut at a hyphen
    return {name for name in labelled | folders | devices if re.fullmatch(NAME_PATTERN, name)}


async def clear(context: Context, sandbox: str, *, keep_snapshot: bool = False) -> None:
    """Remove containers, then volumes, then loop devices, then the state folder: what is left can be found again.

    Raises ``Unreachable`` where the engine could not be asked, or where a volume stays in use for longer than
    ``IN_USE_SECONDS``; then something may be left.
    """
    await _emptied(context, sandbox)
    if await _has_images(context):
        await _store(context, sandbox, "empty" if keep_snapshot else "remove", sandbox)
        await _emptied(context, sandbox)  # the helper that removed the devices is itself a container of this sandbox
    state = context.state(sandbox)
    await context.disk.run(lambda: state.remove(keep_snapshot=keep_snapshot))


async def clear_task(context: Context, sandbox: str) -> None:
    """Remove every container of the sandbox and every volume but the workspace's two: nothing runs any more, nothing
    is mounted, and the next task can be made. Store helpers mount no workspace, and may be at work for somebody.

    Raises as ``clear``.
    """
    await _emptied(context, sandbox, keep=(*LASTING_ROLES, STORE_ROLE))


async def _emptied(context: Context, sandbox: str, keep: Collection[str] = ()) -> None:
    """No container and no volume of this name is left, but those of a role to ``keep``; each round looks anew for who
    uses what."""

    async def round_() -> None:
        found = await context.engine.find(context.settings.instance, sandbox)
        containers = [item.name for item in found.containers if item.role not in keep]
        await asyncio.gather(*(context.engine.remove(name) for name in containers))
        volumes = {item.name for item in found.volumes if item.role not in keep} | await _made_up(context, sandbox)
        await asyncio.gather(*(context.engine.remove_volume(name) for name in volumes))

    await _while_in_use(round_)


async def _made_up(context: Context, sandbox: str) -> set[str]:
    """Volumes that the engine made by itself, without our labels, for a container that was made while its volumes
    were being removed: no label leads to them, and they would be in the way of the next preparation."""
    names = context.names(sandbox)
    seen = await asyncio.gather(*(context.engine.volume(names.of(role)) for role in VOLUME_ROLES))
    return {volume.name for volume in seen if volume is not None and LABEL_INSTANCE not in volume.labels}


async def _while_in_use(work: Callable[[], Awaitable[None]]) -> None:
    """Do it, again and again for a while where the engine says that something is still in use."""
    clock = asyncio.get_running_loop().time
    until = clock() + IN_USE_SECONDS
    while True:
        try:
            return await work()
        except Refused as error:
            if error.status != CONFLICT or clock() >= until:
                raise
        await asyncio.sleep(AGAIN_SECONDS)


async def sweep_helpers(context: Context) -> None:
    """Remove store helpers that a killed process left behind, one that still runs as soon as it has ended.

    Another process of this instance may be at work as well, and removes its own helpers a moment after their end.
    """
    found = await context.engine.find(context.settings.instance)
    for item in found.containers:
        if item.role != STORE_ROLE:
            continue
        look = await context.engine.look(item.name)
        if look is not None and not look.running and look.started:
            await context.engine.remove(item.name)
        elif look is not None:
            context.tidy_later(_stray(context, item.name), name=f"stray {item.name}")


async def _stray(context: Context, helper: str) -> None:
    """Wait for its end and for its owner, who may be dead."""
    await context.engine.ended(helper, STORE_SECONDS)
    await asyncio.sleep(OWNER_SECONDS)
    await context.engine.remove(helper)


async def uninstall(context: Context) -> None:
    """Remove the instance's network, its mirrors and dependencies, and its volume of loop images.

    Raises ``RuntimeError`` while a sandbox is left.
    """
    if left := await everyone(context):
        raise RuntimeError(f"sandboxes are left: {', '.join(sorted(left))}")
    found = await context.engine.find(context.settings.instance)
    await asyncio.gather(*(context.engine.remove(item.name) for item in found.containers))
    await _while_in_use(lambda: remove_all(context))
    await _while_in_use(lambda: context.engine.remove_volume(images_volume(context.settings.instance).name))
    await context.engine.remove_network(network(context.settings.instance))


async def _store(context: Context, sandbox: str, *command: str) -> dict[str, Any]:
    """A helper that failed says nothing about the sandbox: it is asked again later."""
    try:
        return await store(context, sandbox, *command)
    except HelperFailed as error:
        raise Unreachable(f"the loop devices could not be looked after: {error}") from error


async def _has_images(context: Context) -> bool:
    return await context.engine.volume(images_volume(context.settings.instance).name) is not None
