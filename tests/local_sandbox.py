"""The sandbox half as ``bot`` sees it, on the real engine, with a scripted model behind its egress."""

from __future__ import annotations

import asyncio
import secrets
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
from pydantic import SecretStr

from bot.demo.model import ScriptedModel
from sandbox import (
    AgentName,
    AgentSettings,
    Api,
    ApiSettings,
    Gateway,
    Handle,
    Job,
    Limits,
    Outcome,
    Phase,
    RunnerAccess,
    Sandbox,
    Secrets,
    Settings,
    Source,
    open_sandbox,
)
from sandbox.agents import AGENTS, Agent
from sandbox.api.serving import serving
from sandbox.engines.answers import gateway_of
from sandbox.service import open_local
from tests.ways import through_a_runner

KEY = SecretStr(f"sk-real-{secrets.token_hex(16)}")
"""What only the egress may know: the model refuses everything else."""
# An outcome takes seconds; on a busy machine with everything starting at once, half a minute was seen.
OUTCOME_SECONDS = 120
WAIT_SECONDS = 10


@dataclass(frozen=True)
class LocalSandbox:
    """An open face, and the model that its sandboxes reach."""

    sandbox: Sandbox
    model: ScriptedModel
    settings: Settings
    agent: AgentName = "claude"
    """The one that ``run`` lets work."""

    async def run(self, prompt: str, source: Source, limits: Limits | None = None) -> Outcome:
        """One life, from prepare to remove. Fails the test where there is no outcome within two minutes, or in the time
        that ``limits`` give and one minute more."""
        name = f"t-{secrets.token_hex(4)}"
        job = Job(name=name, agent=self.agent, prompt=prompt, source=source, limits=limits or Limits())
        try:
            async with asyncio.timeout(max(OUTCOME_SECONDS, limits.wall_seconds + 60) if limits else OUTCOME_SECONDS):
                handle = await self.sandbox.prepare(job, Secrets())
                await self.sandbox.start(handle)
                while (await self.sandbox.wait(handle, WAIT_SECONDS)).phase is Phase.RUNNING:
                    pass
                return await self.sandbox.outcome(handle)
        finally:
            await self.sandbox.remove(Handle(name=name))


@asynccontextmanager
async def local_sandbox(
    client: docker.DockerClient,
    settings: Settings,
    *,
    scenario: str = "ok",
    agents: Mapping[str, Agent] | None = None,
    agent: AgentName = "claude",
    api: Api | None = None,
    model_name: str = "",
) -> AsyncIterator[LocalSandbox]:
    """Open one over ``settings``, whose gateway is replaced by a model that listens for containers only.

    ``agent`` is the one that works, with its own default model or ``model_name``; ``api``: instead of the one that it
    prefers.
    """
    model = ScriptedModel(scenario, expected_key=KEY)
    await model.start(bridge_address(client))
    try:
        settings = settings.model_copy(
            update=_offered(agent, settings.agent, gateway_to(model.port, agent, api), model_name)
        )
        async with _opened(settings, agents) as opened:
            yield LocalSandbox(opened, model, settings, agent)
    finally:
        await model.stop()


@asynccontextmanager
async def _opened(settings: Settings, agents: Mapping[str, Agent] | None) -> AsyncIterator[Sandbox]:
    """The face in this process, or through the API of a runner in this process (`tests.ways`)."""
    async with AsyncExitStack() as stack:
        if agents is not None:
            opened: Sandbox = await open_local(settings, agents=agents)
        elif through_a_runner():
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="gofer-")))  # a socket's path is short
            access = RunnerAccess(token=SecretStr(secrets.token_hex(24)))
            (folder / "tokens").write_text(f"test {access.token.get_secret_value()}\n")
            (folder / "tokens").chmod(0o600)
            api = ApiSettings(listen=f"unix://{folder}/api.sock", tokens_file=folder / "tokens")
            served = await stack.enter_async_context(serving(settings, api, lambda: open_local(settings)))
            await served.opened()
            opened = await open_sandbox(served.url, settings.model_copy(update={"runner": access}))
        else:
            opened = await open_sandbox("local:", settings)
        stack.push_async_callback(opened.close)
        yield opened


def gateway_to(port: int, agent: AgentName = "claude", api: Api | None = None) -> Gateway:
    """The gateway of this agent where the scripted model listens on this port of the machine."""
    apis = (api,) if api else AGENTS[agent].apis
    return Gateway(
        apis=apis,
        base_url=f"http://host.docker.internal:{port}",
        key=KEY,
        header="x-api-key" if apis[0] == "anthropic-messages" else "authorization",
        private=True,
        host_gateway=True,
    )


def _offered(agent: AgentName, own: AgentSettings, gateway: Gateway, model_name: str) -> dict[str, object]:
    if agent == "claude" and not model_name:
        return {"gateway": gateway}
    own = own.model_copy(update={"model": model_name or AGENTS[agent].default_model})
    return {"gateway": gateway, "agents": {agent: own}, "default_agent": agent}


def settings_for(
    host: str, prefix: str, instance: str, state_dir: Path, agent: AgentSettings | None = None
) -> Settings:
    """Settings of a test; failures of the model end in seconds."""
    return Settings(
        instance=instance,
        state_dir=state_dir,
        docker_host=host,
        image_prefix=prefix,
        agent=agent or AgentSettings(max_retries=0, api_timeout_seconds=60),
    )


def bridge_address(client: docker.DockerClient) -> str:
    """The machine as ``host.docker.internal`` names it: reached by containers, and by nobody outside."""
    return gateway_of(client.networks.get("bridge").attrs)


def bundle(folder: Path, files: Mapping[str, bytes]) -> Source:
    """A repository of one commit with these files, as ``gofer run`` sends one."""
    repo = folder / f"repo-{secrets.token_hex(4)}"
    for path, data in files.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_bytes(data)
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-q", "-m", "Start"]):
        subprocess.run(["git", "-C", str(repo), *arguments], check=True)
    made = subprocess.run(
        ["git", "-C", str(repo), "bundle", "create", "-q", "-", "HEAD"], check=True, capture_output=True
    )
    return Source(url="https://github.com/test/repo", bundle=made.stdout)
