"""What is done to a workspace beside tasks: filled, read, saved, copied. One caller for a name at a time (service)."""

from __future__ import annotations

import logging
import secrets

from sandbox import Busy, NotThere, PrepareFailed, Unreachable
from sandbox import prepare as preparing
from sandbox.clear import clear, clear_task
from sandbox.context import Context, boot_id
from sandbox.extraction import changes
from sandbox.helpers import COPY_SECONDS, HelperFailed, store
from sandbox.job import Changes, Fetched, Limits, Reason, Secrets, Snapshot, Source
from sandbox.life import NO_WORKSPACE
from sandbox.state import Filling, Saved, Workspace
from sandbox.workspace import attached, new_id, volumes

_log = logging.getLogger(__name__)


async def fetch(context: Context, name: str, source: Source, given: Secrets, limits: Limits) -> Fetched:
    """See ``Workspaces.fetch``. A snapshot stays: it is a copy that somebody asked for."""
    preparing.filling_of(context, name, source, given, limits)  # what may not be fetched changes nothing
    state = context.state(name)
    await clear(context, name, keep_snapshot=True)
    try:
        await context.disk.run(lambda: state.set_filling(Filling(source=source)))
        workspace, words = await preparing.fetched(context, name, source, given, limits)
        await clear_task(context, name)
        await context.disk.run(lambda: state.set_workspace(workspace))
    except Exception:
        await _tidy(context, name)
        raise
    return Fetched(base_commit=workspace.base_commit, branch=workspace.branch, words=words)


async def diff(context: Context, name: str) -> Changes:
    """See ``Workspaces.diff``; no task is unfinished. What the last task's outcome holds is not read again."""
    state = context.state(name)
    workspace = await _workspace(context, name)
    outcome = await context.disk.run(state.task().outcome)
    if outcome is not None and outcome.changes is not None:
        return outcome.changes
    await clear_task(context, name)
    with preparing.told():
        await attached(context, name)
    workspace = await _workspace(context, name)
    taken = await changes(context, name, workspace, workspace.limits)
    if taken.changes is None:
        raise PrepareFailed(Reason.LOST, " ".join(taken.notes))
    return taken.changes


async def snapshot(context: Context, name: str) -> Snapshot:
    """See ``Workspaces.snapshot``; no task is unfinished. The former one counts until the new one is whole."""
    state = context.state(name)
    workspace = await _workspace(context, name)
    await clear_task(context, name)  # nothing is mounted while it is copied
    identity = secrets.token_hex(8)
    try:
        answer = await store(context, name, "snapshot", name, identity, seconds=COPY_SECONDS)
    except HelperFailed as error:
        raise PrepareFailed(Reason.DISK_FULL, f"The workspace could not be saved: {error}.") from error
    saved = Saved(id=identity, size=int(answer["size"]), digests=answer["digests"], workspace=workspace)
    await context.disk.run(lambda: state.set_snapshot(saved))
    try:
        await store(context, name, "drop", name, identity)
    except (HelperFailed, Unreachable) as error:
        _log.warning("%s: an older snapshot is left until the next one: %s", name, error)
    return Snapshot(id=saved.id, size=saved.size)


async def copy(context: Context, name: str, origin: str) -> None:
    """See ``Workspaces.copy``."""
    state = context.state(name)
    if await context.disk.run(lambda: state.workspace() or state.task().job() or state.snapshot()) is not None:
        raise Busy("This sandbox is there already: delete it first.")
    saved = await context.disk.run(context.state(origin).snapshot)
    if saved is None:
        raise NotThere(f"There is no snapshot of {origin}.")
    if saved.workspace.mirror and await context.engine.volume(saved.workspace.mirror) is None:
        raise NotThere(f"The snapshot of {origin} needs the mirror of its repository, which is gone.")
    await clear(context, name)
    await context.disk.run(lambda: state.set_filling(Filling(source=saved.workspace.source, origin=origin)))
    try:
        made = await _restored(context, name, origin, saved)
        await context.disk.run(lambda: state.set_workspace(made))
    except Exception:
        await _tidy(context, name)
        raise


async def _restored(context: Context, name: str, origin: str, saved: Saved) -> Workspace:
    identity, digests = new_id(), saved.digests
    command = ("restore", origin, saved.id, name, digests["ws"], digests["clean"], identity)
    try:
        devices = await store(context, name, *command, seconds=COPY_SECONDS)
    except HelperFailed as error:
        raise NotThere(f"The snapshot of {origin} could not be restored: {error}.") from error
    with preparing.told():
        await volumes(context, name, devices)
    return saved.workspace.model_copy(update={"id": identity, "boot": boot_id()})


async def _workspace(context: Context, name: str) -> Workspace:
    workspace = await context.disk.run(context.state(name).workspace)
    if workspace is None:
        raise NotThere(NO_WORKSPACE)
    return workspace


async def _tidy(context: Context, name: str) -> None:
    try:
        await clear(context, name, keep_snapshot=True)
    except (Unreachable, OSError) as error:
        _log.warning("%s: not everything could be removed, the next fetch or delete will: %s", name, error)
