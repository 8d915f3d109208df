"""The order of things in a preparation. What does not wait for another is made at once.

Three ways in: all of it for one task (``whole``), a workspace and nothing that runs (``fetched``), and a task in a
workspace that is there (``task``). Whoever calls has written down what it is about to do, and every name is known
before it exists, so a process that dies here leaves nothing that cannot be found and removed. What a failed one has
made, the caller removes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from sandbox import PrepareFailed, Unreachable
from sandbox import setup as setups
from sandbox import task as tasks
from sandbox import workspace as workspaces
from sandbox.context import Context
from sandbox.engine import Differs, Gone
from sandbox.engines import names as things
from sandbox.helpers import HelperFailed
from sandbox.inputs import fill, for_agent, for_fetch, for_instructions
from sandbox.job import Job, Limits, Reason, Secrets, Setup, Source
from sandbox.link import EgressFailed, Link
from sandbox.slots import Slot
from sandbox.source import fetchable, identity, repository
from sandbox.state import Workspace
from sandbox.task import Task, placed, task_of
from sandbox.wayout import Way, end_fetch, end_setup, open_way
from sandbox.workspace import Filling


async def whole(context: Context, job: Job, given: Secrets) -> Workspace:
    """Workspace, way out and agent, for the fetch and the task alike. Nothing of this name is there before.

    Raises ``PrepareFailed``.
    """
    if job.source is None:
        raise PrepareFailed(Reason.FETCH_FAILED, "There is nothing to fetch.")
    made = task_of(context, job, instructions=job.source.instructions is not None)
    filling = filling_of(context, job.name, job.source, given, job.limits)
    made = await placed(context, made, filling.repository)
    setup = setups.wanted(context, job, filling.repository)
    with told():
        async with AsyncExitStack() as stack:
            slot = await stack.enter_async_context(context.preparing.one())
            await _volumes(context, job.name, setup)
            await stack.enter_async_context(_mirror(filling))
            files = _for_fetch(filling) | ({} if setup else for_agent(job, made.agent, made.run))
            way = Way(job, repository=filling.repository, secrets=given, setup=setup is not None)
            async with asyncio.TaskGroup() as group:
                opened = group.create_task(_open(context, job.name, way, stack, slot), name="way out")
                filled = group.create_task(_filled(filling, files, None if setup else made), name="fetch")
            await end_fetch(opened.result())
            if setup is not None:
                await _after_setup(context, made, setup, filling.repository or "", filling.mirror, opened.result())
            workspace, _ = filled.result()
            await _give(context, made, workspace)
    return workspace


async def fetched(context: Context, name: str, source: Source, given: Secrets, limits: Limits) -> tuple[Workspace, str]:
    """The filled workspace and git's words; no model is reachable meanwhile. Containers are left for the caller.

    Raises ``PrepareFailed``.
    """
    filling = filling_of(context, name, source, given, limits)
    # Stands for no task: limits and name are what the way out asks a job for.
    job = Job(name=name, agent=context.settings.default_agent, prompt="fetch", source=source, limits=limits)
    with told():
        async with AsyncExitStack() as stack:
            slot = await stack.enter_async_context(context.preparing.one())
            await _volumes(context, name)
            await stack.enter_async_context(_mirror(filling))
            way = Way(job, repository=filling.repository, with_model=False, secrets=given)
            async with asyncio.TaskGroup() as group:
                group.create_task(_open(context, name, way, stack, slot), name="way out")
                filled = group.create_task(_filled(filling, _for_fetch(filling)))
    return filled.result()


async def task(context: Context, job: Job) -> None:
    """A task's part alone: its devices are attached, and nothing of another task is there any more.

    Raises ``PrepareFailed``.
    """
    workspace = await context.disk.run(context.state(job.name).workspace)
    made = task_of(context, job, instructions=workspace is not None and workspace.instructions is not None)
    mirror = workspace.mirror if workspace is not None else ""
    of = _repository_of(context, workspace)
    made = await placed(context, made, of)
    setup = setups.wanted(context, job, of)
    with told():
        async with AsyncExitStack() as stack:
            slot = await stack.enter_async_context(context.preparing.one())
            await _volumes(context, job.name, setup)
            async with asyncio.TaskGroup() as group:
                way = Way(job, setup=setup is not None)
                opened = group.create_task(_open(context, job.name, way, stack, slot), name="way out")
                if setup is None:
                    group.create_task(fill(context, job.name, for_agent(job, made.agent, made.run)), name="inputs")
                    group.create_task(tasks.create(context, made, mirror), name="agent")
            await end_fetch(opened.result())
            if setup is not None:
                await _after_setup(context, made, setup, of or "", mirror, opened.result())
            if workspace is not None:
                await _give(context, made, workspace)


async def _open(context: Context, name: str, way: Way, stack: AsyncExitStack, slot: Slot) -> Link:
    """The heavy part is over when the egress listens: the next preparation may begin."""
    link = await open_way(context, name, way, stack)
    slot.leave()
    return link


async def _give(context: Context, made: Task, workspace: Workspace) -> None:
    """Copies of instruction files, where the checkout's own are not to be read. The inputs volume has been filled."""
    if workspace.instructions is None:
        return
    task = context.state(made.job.name).task()
    if workspace.left_out:
        words = f"Instructions that the agent did not get, too large or no files: {', '.join(workspace.left_out)}."
        notes = await context.disk.run(task.notes)
        await context.disk.run(lambda: task.set_notes(*notes, words))
    if files := for_instructions(made.agent, workspace.instructions):
        await fill(context, made.job.name, files)


async def _after_setup(context: Context, made: Task, setup: Setup, of: str, mirror: str, link: Link) -> None:
    """Dependencies first, then what the agent is told and its container. The workspace is filled."""
    ready = await setups.ready(context, made, of, setup)
    await end_setup(link)
    job = made.job
    if ready.note:
        task = context.state(job.name).task()
        await context.disk.run(lambda: task.set_notes(ready.note))
        job = job.model_copy(update={"prompt": job.prompt + setups.for_agent(ready.note)})
    await fill(context, job.name, for_agent(job, made.agent, made.run))
    await tasks.create(context, made, mirror, ready.volume)


def _repository_of(context: Context, workspace: Workspace | None) -> str | None:
    """OWNER/REPO of what is in the workspace; None where it is of no host that is configured."""
    try:
        return repository(workspace.source.url, context.settings.git_host) if workspace and workspace.source else None
    except ValueError:
        return None


def filling_of(context: Context, name: str, source: Source, given: Secrets, limits: Limits) -> Filling:
    """Raises ``PrepareFailed`` for what may not be fetched, with the form to send, before anything is removed."""
    try:
        wanted = repository(source.url, context.settings.git_host) if source.bundle is None else None
        fetchable(source, given)
    except ValueError as error:
        raise PrepareFailed(Reason.FETCH_FAILED, f"{error}.") from error
    if source.patch is not None and len(source.patch) > limits.patch_bytes:
        words = f"The earlier result is larger than the {limits.patch_bytes:,} bytes allowed."
        raise PrepareFailed(Reason.FETCH_FAILED, words)
    mirror = ""
    if wanted is not None and context.settings.mirror:
        mirror = things.mirror_volume(context.settings.instance, context.settings.git_host.base_url, wanted).name
    return Filling(context, name, source, given, limits, wanted, mirror)


@asynccontextmanager
async def _mirror(filling: Filling) -> AsyncIterator[None]:
    """The volume of its mirror is there, and stays for the length of the block."""
    if not filling.mirror or filling.repository is None:
        yield
        return
    settings = filling.context.settings
    volume = things.mirror_volume(settings.instance, settings.git_host.base_url, filling.repository)
    async with filling.context.kept.claimed(filling.context, volume.name):
        await filling.context.engine.make_volume(volume)
        yield


def _for_fetch(filling: Filling) -> dict[str, bytes]:
    mirror = ""
    if filling.mirror and filling.repository is not None:
        mirror = identity(filling.repository, filling.context.settings.git_host)
    return for_fetch(filling.source, filling.repository, filling.limits, mirror)


async def _volumes(context: Context, name: str, setup: Setup | None = None) -> None:
    """Those that live for one task, and the network."""
    engine, names = context.engine, context.names(name)
    async with asyncio.TaskGroup() as volumes:
        volumes.create_task(engine.make_volume(things.socket_volume(names, "sock-agent")))
        volumes.create_task(engine.make_volume(things.socket_volume(names, "sock-fetch")))
        volumes.create_task(engine.make_volume(things.inputs_volume(names)))
        if setup is not None:
            volumes.create_task(engine.make_volume(things.socket_volume(names, "sock-setup")))
        volumes.create_task(engine.make_network(names.network, things.labels(names.instance, "", "network")))


async def _filled(filling: Filling, files: Mapping[str, bytes], made: Task | None = None) -> tuple[Workspace, str]:
    """The filled workspace. The helper's container starts while the egress does, and waits inside for its socket."""
    async with asyncio.TaskGroup() as group:
        group.create_task(fill(filling.context, filling.name, files, filling.mirror), name="inputs")
        group.create_task(_disks(filling, made), name="workspace")
    return await workspaces.fetch(filling)


async def _disks(filling: Filling, made: Task | None) -> None:
    """Loop devices, their volumes, and the containers that will mount them."""
    await workspaces.make(filling)
    async with asyncio.TaskGroup() as containers:
        containers.create_task(workspaces.create_helper(filling), name="fetch helper")
        if made is not None:
            containers.create_task(tasks.create(filling.context, made, filling.mirror), name="agent")


@contextmanager
def told() -> Iterator[None]:
    """Whatever fails inside is raised as the caller is to see it."""
    try:
        yield
    except (ExceptionGroup, EgressFailed, HelperFailed, Differs, Gone) as error:
        raise _told(error) from error


def _told(error: Exception) -> Exception:
    """Of all that failed at once, what failed first, as the caller is to see it."""
    first = next(_leaves(error))
    if isinstance(first, EgressFailed):
        return PrepareFailed(Reason.EGRESS_LOST, f"The way out could not be set up: {first}.")
    if isinstance(first, HelperFailed):
        return PrepareFailed(Reason.DISK_FULL, f"The workspace could not be made: {first}.")
    if isinstance(first, Differs):  # asking again would not help
        return PrepareFailed(Reason.LOST, f"The sandbox would not have been as strict as it must be: {first}.")
    if isinstance(first, Gone):  # of what this very preparation made or named
        return Unreachable(f"something was removed during the preparation: {first}")
    return first


def _leaves(error: Exception) -> Iterator[Exception]:
    if not isinstance(error, ExceptionGroup):
        yield error
        return
    for inner in error.exceptions:
        yield from _leaves(inner)
