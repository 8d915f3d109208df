"""What a service needs before it may serve: an engine that answers, its images by ID, its network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import resources

from sandbox.agents import Agent
from sandbox.clear import sweep_helpers
from sandbox.context import DISK_THREADS, PREPARING_PER_CPU, Context
from sandbox.engine import Engine, Host, Refused, Volume
from sandbox.engines.docker import DockerEngine
from sandbox.engines.hardening import Ground
from sandbox.engines.names import images_volume, labels, network
from sandbox.engines.plan import Images
from sandbox.engines.threads import Threads
from sandbox.gateways import check
from sandbox.helpers import HelperFailed, store
from sandbox.settings import Settings
from sandbox.slots import Slots
from sandbox.state import StateDir

DEFAULT_RUNTIME = "runc"


async def open_context(
    settings: Settings, agents: Mapping[str, Agent], clock: Callable[[], float], seconds: float
) -> Context:
    """``seconds``: for one answer of the engine. Raises ``Unreachable``, or ``RuntimeError`` with what to do."""
    try:
        check(settings, agents)
    except ValueError as error:
        raise RuntimeError(f"{error}: give the agent another gateway") from error
    engine = await DockerEngine.open(settings.docker_host, seconds)
    try:
        ground = _ground(settings, await engine.host())
        images = await _images(engine, settings, agents)
        context = Context(
            engine=engine,
            settings=settings,
            agents=agents,
            images=images,
            ground=ground,
            states=StateDir(settings.state_dir),
            disk=Threads("gofer-state", DISK_THREADS),
            clock=clock,
            preparing=Slots(PREPARING_PER_CPU * ground.cpus),
        )
    except BaseException:
        await engine.close()
        raise
    try:
        await engine.make_network(network(settings.instance), labels(settings.instance, "", "network"))
        await sweep_helpers(context)
        await _usable_store(context)
    except BaseException:
        await context.close()
        raise
    return context


async def _usable_store(context: Context) -> None:
    """A folder that the operator named for workspaces is tried: an engine tells only when it is to be mounted. One that
    is not usable leaves nothing behind, so that another one can be named."""
    folder = context.settings.store_dir
    wanted = images_volume(context.settings.instance, str(folder or ""))
    before = await context.engine.volume(wanted.name)
    if before is not None and before.options != wanted.options:
        raise RuntimeError(_moved(wanted, before))
    if folder is None:
        return
    try:
        await store(context, "", "list")
    except (Refused, HelperFailed) as error:
        if before is None:
            await context.tidied()  # the helper's container, which would hold it
            with suppress(Refused):
                await context.engine.remove_volume(wanted.name)
        raise RuntimeError(
            f"workspaces cannot be kept in {folder} on the Docker host: {error}. It must be a folder that is there"
        ) from error


def _moved(wanted: Volume, before: Volume) -> str:
    """What to do where workspaces have been kept elsewhere until now."""
    there, here = (volume.options.get("device") or "a folder of the engine's own" for volume in (before, wanted))
    return (
        f"workspaces and snapshots are kept in {there} until now, and the settings say {here}: set GOFER_STORE_DIR"
        f" back, or remove all sandboxes first, then `docker volume rm {before.name}`"
    )


def _ground(settings: Settings, host: Host) -> Ground:
    runtime = settings.runtime or DEFAULT_RUNTIME
    if runtime not in host.runtimes:
        raise RuntimeError(
            f"the container engine has no runtime {runtime!r}; it has: {', '.join(sorted(host.runtimes))}"
        )
    profile = resources.files("sandbox.engines").joinpath("seccomp.json").read_text()
    return Ground(seccomp=profile, runtime=runtime, cpus=host.cpus)


async def _images(engine: Engine, settings: Settings, agents: Mapping[str, Agent]) -> Images:
    """Those of the agents that the operator offers, and no others: who offers one need not build four."""
    offered = [agent for name, agent in agents.items() if settings.for_agent(name) is not None]
    kinds = {"base", "egress", *(agent.image for agent in offered)}
    ids: dict[str, str] = {}
    for kind in sorted(kinds):
        tag = f"{settings.image_prefix}/{kind}:latest"
        found = await engine.image(tag)
        if found is None:
            raise RuntimeError(
                f"the image {tag} is missing: `make images` builds all, "
                f"`python -m sandbox.images build {kind}` this one"
            )
        ids[kind] = found
    return Images(base=ids["base"], egress=ids["egress"], agents=ids)
