"""The way out of one task or fetch: the egress container, listening, with its secrets on its standard input."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from sandbox import PrepareFailed
from sandbox.context import Context
from sandbox.engines import plan
from sandbox.job import Job, Reason, Secrets
from sandbox.link import DROP_SECONDS, READY_SECONDS, Link, first_line, linked


@dataclass(frozen=True)
class Way:
    """What one egress is for. ``repository``: OWNER/REPO that may be fetched, None: none. Without a model the egress
    knows of none, and holds no secret for it. ``setup``: a setup phase comes before the agent."""

    job: Job
    repository: str | None = None
    with_model: bool = True
    secrets: Secrets = field(default_factory=Secrets)
    setup: bool = False


async def open_way(context: Context, name: str, way: Way, stack: AsyncExitStack) -> Link:
    """The egress of a sandbox, listening. Its journal is followed until ``stack`` closes; it runs on after that."""
    settings, job = context.settings, way.job
    try:
        line = first_line(settings, job, way.repository, way.secrets, with_model=way.with_model, setup=way.setup)
    except ValueError as error:
        raise PrepareFailed(Reason.BUDGET, f"{error}.") from error
    host_gateway = settings.gateway_for(job.agent).host_gateway
    sockets = ("agent", "fetch", "setup") if way.setup else ("agent", "fetch")
    names, image = context.names(name), context.images.egress
    what = plan.egress(names, context.ground, image, host_gateway=host_gateway, sockets=sockets)
    await context.engine.create(what)
    link = await stack.enter_async_context(linked(context.engine, what.name))
    await context.engine.start(what.name)
    await link.send(line)
    await link.event("ready", READY_SECONDS)
    return link


async def end_fetch(link: Link) -> None:
    """No repository can be fetched from now on, and the egress has forgotten the credential for it."""
    await link.send({"do": "drop-fetch"})
    await link.event("fetch-dropped", DROP_SECONDS)


async def end_setup(link: Link) -> None:
    """Nothing is reachable through the setup phase's socket from now on."""
    await link.send({"do": "close-setup"})
    await link.event("setup-closed", DROP_SECONDS)
