"""Run a command as the agent, in the container that an agent gets, with a scripted model on its socket.

Everything of the container is real: image, settings, entry, volumes. Two things differ from a sandbox that the service
makes: the workspace is a plain volume, and behind the sockets are this process's servers in place of the egress.
"""

from __future__ import annotations

import asyncio
import copy
import io
import secrets
import tarfile
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.demo.model import ScriptedModel
from sandbox.agents import AGENTS, Run
from sandbox.engine import STDERR, STDOUT, Look, Plan, Volume
from sandbox.engines import plan
from sandbox.engines.docker import DockerEngine
from sandbox.engines.hardening import Ground, mount
from sandbox.engines.names import AGENT_UID, Names, inputs_volume
from sandbox.job import Limits
from sandbox.settings import AgentSettings, Api
from tests.engine import Images

SECCOMP = Path(plan.__file__).parent / "seccomp.json"
# The longest run of these tests is the CLI with one retry.
RUN_SECONDS = 60
WORDS = b"NAME is not reachable from this sandbox"
SETTINGS = AgentSettings(max_retries=0, api_timeout_seconds=5)


@dataclass(frozen=True)
class Entry:
    """One path of the repository: a file, or a symbolic link where ``link`` is set."""

    data: bytes = b""
    link: str = ""


Tree = Mapping[str, bytes | Entry]


@dataclass(frozen=True)
class Ended:
    """What is known of a run. ``look`` is the engine's own view."""

    look: Look
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def code(self) -> int | None:
        return self.look.exit_code


@dataclass
class AgentContainer:
    """One sandbox's worth of volumes under the session's instance; removes all of it in ``close``."""

    engine: DockerEngine
    images: Images
    instance: str
    folder: Path
    """Short: the sockets are in it, and a path of one has 107 bytes at most."""
    model: ScriptedModel = field(default_factory=ScriptedModel)
    agent: str = "claude"
    api: Api = "anthropic-messages"
    home: Mapping[str, bytes] = field(default_factory=dict)
    """Files for HOME beside the agent's own."""
    seconds: float = RUN_SECONDS
    """A run that takes longer fails the test."""
    names: Names = field(init=False)

    def __post_init__(self) -> None:
        self.names = Names(self.instance, f"a{secrets.token_hex(4)}")

    async def open(self, tree: Tree, prompt: bytes = b"Write some notes.") -> None:
        """Start the model, make the volumes and fill them."""
        await self._listen()
        binding = {"type": "none", "o": "bind", "device": str(self.folder)}
        await self.engine.make_volume(Volume(self.names.of("sock-agent"), self.names.labels("sock-agent"), binding))
        await self.engine.make_volume(inputs_volume(self.names))
        await self.engine.make_volume(Volume(self.names.of("ws"), self.names.labels("ws")))
        own = AGENTS[self.agent].home(self.asked())
        home = {f"home/{path}": data for path, data in {**own, **self.home}.items()}
        await self._fill("inputs", _archive({"prompt": prompt, **home}, owner=0))
        await self._fill("ws", _archive(tree, owner=AGENT_UID, top="repo"))

    async def close(self) -> None:
        """Remove everything; fine after half an ``open``."""
        found = await self.engine.find(self.instance, self.names.sandbox)
        for container in found.containers:
            await self.engine.remove(container.name)
        for volume in found.volumes:
            await self.engine.remove_volume(volume.name)
        self._general.close()
        await self.model.stop()

    async def run(
        self, command: Sequence[str], limits: Limits | None = None, environment: Mapping[str, str] | None = None
    ) -> Ended:
        """Run ``command`` through the entry to its end. Fails the test where it does not end within ``seconds``."""
        loop = asyncio.get_running_loop()
        planned = self.plan(command, limits or Limits(), environment)
        await self.engine.create(planned)
        started = loop.time()
        await self.engine.start(planned.name)
        await self.engine.ended(planned.name, self.seconds)
        seconds = loop.time() - started
        look = await self.engine.look(planned.name)
        assert look is not None
        out, err = await self._log(planned.name)
        await self.engine.remove(planned.name)
        assert not look.running, f"still running after {self.seconds} s: {out[-500:]!r} {err[-500:]!r}"
        return Ended(look, out, err, seconds)

    async def shell(self, script: str) -> Ended:
        """Run a bash script in the agent's place."""
        return await self.run(["/bin/bash", "-c", script])

    async def cli(self) -> Ended:
        """Run the agent's real CLI."""
        return await self.run(AGENTS[self.agent].command(self.asked()))

    def asked(self) -> Run:
        return Run(AGENTS[self.agent].default_model, api=self.api, settings=SETTINGS)

    def plan(self, command: Sequence[str], limits: Limits, environment: Mapping[str, str] | None = None) -> Plan:
        agent = AGENTS[self.agent]
        ground = Ground(SECCOMP.read_text())
        values = agent.environment(self.asked()) if environment is None else environment
        image = str(getattr(self.images, agent.image))
        return plan.agent(self.names, ground, image, command, values, limits, agent=self.agent)

    async def _listen(self) -> None:
        self._general = await asyncio.start_unix_server(_refuse, self.folder / "general.sock")
        await self.model.start()
        await self.model.listen_at(self.folder / "model.sock")
        self.folder.chmod(0o755)
        for name in ("general.sock", "model.sock"):
            (self.folder / name).chmod(0o666)

    async def _fill(self, role: str, archive: bytes) -> None:
        planned = plan.filler(self.names, Ground(SECCOMP.read_text()), self.images.base)
        settings = copy.deepcopy(dict(planned.settings))
        settings["Env"] = [plan.PATH, "HOME=/tmp", "LANG=C.UTF-8"]
        settings["HostConfig"]["Mounts"] = [mount(self.names.of(role), "/fill")]
        await self.engine.create(Plan(planned.name, settings))
        await self.engine.put(planned.name, "/fill", archive)
        await self.engine.remove(planned.name)

    async def _log(self, container: str) -> tuple[bytes, bytes]:
        pieces: dict[int, list[bytes]] = {STDOUT: [], STDERR: []}
        await self.engine.logs(container, lambda channel, piece: pieces[channel].append(piece))
        return b"".join(pieces[STDOUT]), b"".join(pieces[STDERR])


@asynccontextmanager
async def agent_container(
    host: str,
    images: Images,
    instance: str,
    tree: Tree,
    *,
    scenario: str = "ok",
    prompt: str = "Write some notes.",
    agent: str = "claude",
    api: Api = "anthropic-messages",
    home: Mapping[str, bytes] | None = None,
) -> AsyncIterator[AgentContainer]:
    """An open one, removed afterwards."""
    engine = await DockerEngine.open(host)
    try:
        with tempfile.TemporaryDirectory(prefix="gofer-") as folder:
            box = AgentContainer(
                engine, images, instance, Path(folder), ScriptedModel(scenario), agent, api, home or {}
            )
            try:
                await box.open(tree, AGENTS[agent].prompt(prompt))
                yield box
            finally:
                await box.close()
    finally:
        await engine.close()


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(WORDS), WORDS))
    await writer.drain()
    writer.close()


def _archive(tree: Tree, owner: int, top: str = "") -> bytes:
    """A tar file of ``tree`` below ``top``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        folders = {str(folder) for path in tree for folder in (Path(top) / path).parents} - {"."}
        for folder in sorted(folders | ({top} if top else set())):
            _add(tar, tarfile.TarInfo(folder), owner, tarfile.DIRTYPE, 0o755)
        for path, content in tree.items():
            entry = Entry(content) if isinstance(content, bytes) else content
            info = tarfile.TarInfo(str(Path(top) / path))
            info.linkname, info.size = entry.link, len(entry.data)
            _add(tar, info, owner, tarfile.SYMTYPE if entry.link else tarfile.REGTYPE, 0o644, entry.data)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, info: tarfile.TarInfo, owner: int, kind: bytes, mode: int, data: bytes = b"") -> None:
    info.type, info.mode, info.uid, info.gid = kind, mode, owner, owner
    tar.addfile(info, io.BytesIO(data))
