"""Start to first model request for each agent, cold and warm, in seconds and as a ratio to ``docker run``.

Warm: a task like those before it. Cold: the first task of a new instance (no network, no mirror, no volume of its own
yet) on a machine that has the images on its disk and nothing of them in its page cache. Where this process may not
empty that cache, only the rest is cold, and the report says so. ``docker run`` of ``true`` in the agent's own image is
measured under the same conditions in the same run. All is real but the model and the git host, which are local.
"""

from __future__ import annotations

import asyncio
import secrets
import statistics
import subprocess
import time
from dataclasses import dataclass

import docker

from bot.demo.model import ScriptedModel
from sandbox import AgentName, AgentSettings, Handle, Job, Limits, Secrets, Settings
from sandbox.agents import AGENTS
from sandbox.service import Service, open_local
from tests.bench.bench_task import spread
from tests.bench.place import Place, cold, engine_client, place
from tests.local_sandbox import KEY, gateway_to

ROUNDS, WARM = 3, 3
AGENTS_IN_TURN: tuple[AgentName, ...] = ("claude", "codex", "opencode", "pi")
# Half a minute was seen where much else ran, with nothing in the page cache.
TASK_SECONDS = 180.0
LIMITS = Limits(workspace_bytes=256 * 2**20)


@dataclass(frozen=True)
class Start:
    """Seconds. ``asked``: from asking for a task to its first question; ``own``: of those the agent's own part, from
    its container's start; ``plain``: of ``docker run``."""

    asked: float
    own: float
    plain: float


def main() -> None:
    """Print the table. Needs the images and the engine."""
    asyncio.run(measure())


async def measure() -> None:
    client = engine_client()
    try:
        print(f"page cache emptied before each cold start: {'yes' if cold() else 'no, this needs root'}")
        print(f"{'':16}{'start to first model request':>30}{'docker run':>24}{'ratio':>7}{'of it the CLI':>15}")
        for agent in AGENTS_IN_TURN:
            firsts, others = [], []
            for _ in range(ROUNDS):
                first, *more = await one_round(client, agent)
                firsts.append(first)
                others += more
            report(f"{agent}, cold", firsts)
            report(f"{agent}, warm", others)
    finally:
        client.close()


async def one_round(client: docker.DockerClient, agent: AgentName) -> list[Start]:
    """A cold start and some warm ones, in an instance of their own."""
    async with place(client) as here:
        model = ScriptedModel(expected_key=KEY)
        await model.start(here.address)
        try:
            service = await open_local(offering(here, agent, model.port))
            try:
                cold()
                plain = docker_run(agent)
                cold()
                first = await one(here, service, model, agent, plain)
                more = [await one(here, service, model, agent, docker_run(agent)) for _ in range(WARM)]
                return [first, *more]
            finally:
                await service.close()
        finally:
            await model.stop()


def offering(here: Place, agent: AgentName, port: int) -> Settings:
    own = AgentSettings(model=AGENTS[agent].default_model, max_retries=0, api_timeout_seconds=60)
    update = {"gateway": gateway_to(port, agent), "agents": {agent: own}, "default_agent": agent}
    return here.settings.model_copy(update=update)


async def one(here: Place, service: Service, model: ScriptedModel, agent: AgentName, plain: float) -> Start:
    """One task to its first question; then it is removed, whatever it is at."""
    handle = Handle(name=f"b-{secrets.token_hex(4)}")
    job = Job(name=handle.name, agent=agent, prompt="Write some notes.", source=here.source, limits=LIMITS)
    model.seen.clear()
    since, began = time.time(), time.monotonic()
    try:
        async with asyncio.timeout(TASK_SECONDS):
            await service.prepare(job, Secrets())
            await service.start(handle)
            await model.wait_for_questions(1, TASK_SECONDS)
        asked = model.questions[0].at - began
    finally:
        await service.remove(handle)
    return Start(asked, since + asked - here.watch.first("agent", "start", since), plain)


def docker_run(agent: AgentName) -> float:
    """Seconds of a container from the agent's image that does nothing."""
    command = ["docker", "run", "--rm", "--network", "none", "--entrypoint", "/bin/true"]
    began = time.monotonic()
    subprocess.run([*command, f"gofer/{AGENTS[agent].image}:latest"], check=True, capture_output=True, timeout=120)
    return time.monotonic() - began


def report(what: str, starts: list[Start]) -> None:
    asked, plain = [start.asked for start in starts], [start.plain for start in starts]
    ratio = statistics.median(asked) / statistics.median(plain)
    own = statistics.median(start.own for start in starts)
    print(f"{what:16}{spread(asked):>30}{spread(plain):>24}{ratio:7.1f}{own:15.2f}", flush=True)


if __name__ == "__main__":
    main()
