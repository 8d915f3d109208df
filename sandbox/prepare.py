"""Make a sandbox ready: volumes, way out, checkout. Everything that does not wait for another is made at once.

The intent (``job.json``) is on disk before anything is made, and every name is known before it exists, so a process
that dies here leaves nothing that cannot be found and removed.
"""

from __future__ import annotations

import asyncio
import io
import json
import secrets
import tarfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

from sandbox import PrepareFailed, Unreachable
from sandbox.agents import Agent, Run
from sandbox.context import Context, boot_id
from sandbox.engine import Differs, Gone, Plan
from sandbox.engines import names as things
from sandbox.engines import plan
from sandbox.helpers import HelperFailed, json_object, run_created, store
from sandbox.job import Job, Reason, Secrets
from sandbox.link import DROP_SECONDS, READY_SECONDS, EgressFailed, Link, first_line, linked
from sandbox.source import fetch_request, repository
from sandbox.state import Ready

# The clean directory is a copy of the agent's .git at first, which must fit into the workspace beside the files.
CLEAN_SHARE = 2
CLEAN_BYTES_MIN = 16 * 2**20  # smaller ones have no room for ext4's own tables
CLEAN_INODES = 10_000  # a bare repository of one commit: packs and a few dozen small files
FETCH_GRACE_SECONDS = 30.0  # beyond the fetch's own limit: checkout and manifest end by that limit too
FETCH_BYTES = 1 << 20  # its answer: git's words, cut to some thousand characters by the helper
WORDS_CHARACTERS = 2_000  # of git's words, the end, for the user


@dataclass(frozen=True)
class Made:
    """What a preparation works with."""

    context: Context
    job: Job
    secrets: Secrets
    agent: Agent
    repository: str | None

    @property
    def names(self) -> things.Names:
        return self.context.names(self.job.name)


async def prepare(context: Context, job: Job, given: Secrets) -> None:
    """Make it; nothing of this name is there. Raises ``PrepareFailed``; the caller then removes what was made."""
    made = Made(context, job, given, _agent(context, job), _repository(context, job))
    state = context.state(job.name)
    await context.disk.run(lambda: state.set_job(job))
    try:
        ready = await _make(made)
    except (ExceptionGroup, EgressFailed) as error:
        raise _told(error) from error
    await context.disk.run(lambda: state.set_ready(ready))


def _agent(context: Context, job: Job) -> Agent:
    try:
        return context.agents[job.agent]
    except KeyError:
        raise PrepareFailed(Reason.AGENT_ERROR, f"There is no agent called {job.agent}.") from None


def _repository(context: Context, job: Job) -> str | None:
    if job.source is None or job.source.bundle is not None:
        return None
    try:
        return repository(job.source.url, context.settings.git_host)
    except ValueError as error:
        raise PrepareFailed(Reason.FETCH_FAILED, f"{error}.") from error


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


async def _make(made: Made) -> Ready:
    engine, names = made.context.engine, made.names
    workspace_id = secrets.token_hex(16)
    async with asyncio.TaskGroup() as volumes:
        volumes.create_task(engine.make_volume(things.socket_volume(names, "sock-agent")))
        volumes.create_task(engine.make_volume(things.socket_volume(names, "sock-fetch")))
        volumes.create_task(engine.make_volume(things.inputs_volume(names)))
        volumes.create_task(engine.make_network(names.network, things.labels(names.instance, "", "network")))
    async with AsyncExitStack() as stack:
        async with asyncio.TaskGroup() as group:
            way_out = group.create_task(_way_out(made, stack), name="way out")
            fetched = group.create_task(_fetched(made, workspace_id), name="fetch")
        link, answer = way_out.result(), fetched.result()
        await link.send({"do": "drop-fetch"})
        await link.event("fetch-dropped", DROP_SECONDS)
    return Ready(base_commit=answer["base_commit"], branch=answer["branch"], workspace_id=workspace_id, boot=boot_id())


async def _fetched(made: Made, workspace_id: str) -> dict[str, str]:
    """The filled workspace. The helper's container starts while the egress does, and waits inside for its socket."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_inputs(made), name="inputs")
        group.create_task(_workspace(made, workspace_id), name="workspace")
    return await _fetch(made)


async def _way_out(made: Made, stack: AsyncExitStack) -> Link:
    """The egress, listening. The journal is followed until ``stack`` closes."""
    context, names = made.context, made.names
    host_gateway = context.settings.gateway.host_gateway
    what = plan.egress(names, context.ground, context.images.egress, host_gateway=host_gateway)
    await context.engine.create(what)
    link = await stack.enter_async_context(linked(context.engine, what.name))
    await context.engine.start(what.name)
    await link.send(first_line(context.settings, made.repository, made.secrets))
    await link.event("ready", READY_SECONDS)
    return link


async def _inputs(made: Made) -> None:
    """Prompt and requests, through a container that is never started."""
    context, job = made.context, made.job
    files = {
        "prompt": made.agent.prompt(job.prompt),
        "fetch.json": json.dumps(fetch_request(job, made.repository)).encode(),
        "agent.json": json.dumps({"agent": job.agent}).encode(),
    }
    if job.source is not None and job.source.bundle is not None:
        files["bundle"] = job.source.bundle
    filler = plan.filler(made.names, context.ground, context.images.base)
    await context.engine.create(filler)
    await context.engine.put(filler.name, "/inputs", _archive(files))
    context.remove_later(filler.name)


def _archive(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o444  # root's, readable by all: the volume is mounted read-only
            archive.addfile(entry, io.BytesIO(data))
    return target.getvalue()


async def _workspace(made: Made, workspace_id: str) -> None:
    """Loop devices, their volumes, and the two containers that will mount them."""
    context, names, job = made.context, made.names, made.job
    limits = job.limits
    clean_bytes = max(limits.workspace_bytes // CLEAN_SHARE, CLEAN_BYTES_MIN)
    sizes = (limits.workspace_bytes, limits.workspace_inodes, clean_bytes, CLEAN_INODES)
    devices = await store(context, job.name, "make", job.name, *map(str, sizes), workspace_id)
    async with asyncio.TaskGroup() as volumes:
        for role in ("ws", "clean"):
            volumes.create_task(context.engine.make_volume(things.loop_volume(names, role, str(devices[role]))))
    async with asyncio.TaskGroup() as containers:
        containers.create_task(context.engine.create(_fetch_plan(made)))
        containers.create_task(context.engine.create(_agent_plan(made)))


def _fetch_plan(made: Made) -> Plan:
    return plan.fetch(made.names, made.context.ground, made.context.images.base, made.job.limits)


def _agent_plan(made: Made) -> Plan:
    context, job, agent = made.context, made.job, made.agent
    settings = context.settings.for_agent(job.agent) or context.settings.agent
    run = Run(model=job.model or settings.model, settings=settings)
    return plan.agent(
        made.names,
        context.ground,
        context.images.agents[agent.image],
        agent.command(run),
        agent.environment(run),
        job.limits,
    )


async def _fetch(made: Made) -> dict[str, str]:
    """Run the fetch helper. Raises ``PrepareFailed`` with git's words, free of the credential."""
    seconds = made.job.limits.fetch_seconds + FETCH_GRACE_SECONDS
    try:
        ran = await run_created(made.context, _fetch_plan(made), seconds=seconds, most_bytes=FETCH_BYTES)
        answer = json_object(ran)
    except HelperFailed as error:
        raise PrepareFailed(Reason.FETCH_FAILED, f"The repository could not be fetched: {error}.") from error
    if ran.exit_code != 0:
        raise PrepareFailed(Reason.FETCH_FAILED, _fetch_words(answer, made.secrets))
    return {"base_commit": str(answer["base_commit"]), "branch": str(answer["branch"])}


def _fetch_words(answer: dict[str, object], given: Secrets) -> str:
    sentence, git = str(answer.get("error") or ""), str(answer.get("stderr") or "").strip()
    words = "\n".join(part for part in (sentence, git if git not in sentence else "") if part)
    # the credential never gets there; should it ever be echoed by a host, it ends here
    if given.fetch_token is not None and (token := given.fetch_token.get_secret_value()):
        words = words.replace(token, "***")
    return f"The repository could not be fetched: {words[-WORDS_CHARACTERS:] or 'no reason was given'}"
