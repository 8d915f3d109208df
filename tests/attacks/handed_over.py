"""One task of the whole bot, watched from all sides: a tap on the engine's socket, and a look at the sandbox itself."""

from __future__ import annotations

import asyncio
import base64
import json
import shlex
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import docker
import pytest

from bot.app import serving
from bot.config import Config
from bot.demo import messages, scenarios
from bot.demo.github import LocalGitHub
from sandbox import Handle, Job, Outcome, Reason, Sandbox, Secrets, Settings, Status, open_sandbox
from tests.engine import Images
from tests.journey import World, all_done, world
from tests.local_sandbox import KEY
from tests.tap import Asked, Tap

SWEEPER = (Path(__file__).parent / "sweeper.py").read_text()
PLANTED = "ghs_plantedplantedplantedplanted"
# The agent tells what its processes hold and which files there are, and looks for credentials everywhere.
DUMP = (
    f"echo {PLANTED} > /tmp/planted; python3 -c {shlex.quote(SWEEPER)} > FOUND.txt",
    "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n' >> FOUND.txt; ls -A / /tmp . >> FOUND.txt; true",
)
HOSTILE = """make it so
EOF
'; touch /tmp/pwned /ws/repo/pwned; '
$(touch pwned) `touch pwned` "; touch pwned; " ${IFS} %s $HOME \\
--model=pwned
"""
PROMPT = f"{HOSTILE}{scenarios.marker(scenarios.shell(*DUMP))}"
TITLE, BODY = 'x"; touch pwned; "$(touch pwned)', "`touch pwned`\nEOF\n"
BRANCH = "a$(touch${IFS}pwned)\"';pwned"
FILES = {"README.md": b"# Here\n", "$(touch pwned)": b"x\n", "--pwned": b"x\n", "a;touch pwned": b"x\n"}
# A shorter line is no secret of its own.
LINE_CHARACTERS = 8


@dataclass
class Seen:
    """What was seen. ``secrets`` are by kind (app, model, fetch), in every form in which they could turn up."""

    origin: str
    settings: str
    """The sandbox's, with every secret of theirs written out."""
    asked: list[Asked] = field(default_factory=list)
    sent: bytes = b""
    secrets: dict[str, set[str]] = field(default_factory=dict)
    delivered: bytes = b""
    """Archive of all that agent and extractor start from, taken before the agent's start."""
    inspect: list[Any] = field(default_factory=list)
    egress: str = ""
    """Environment, arguments and files of its processes."""
    questions: list[str] = field(default_factory=list)
    events: list[tuple[int, str, str]] = field(default_factory=list)
    comment: str = ""
    kept: dict[str, bytes] = field(default_factory=dict)
    fetches: int = 0

    def found(self, data: bytes, kind: str) -> list[str]:
        """The forms of this kind of secret that are in ``data``."""
        return [form for form in self.secrets[kind] if form.encode() in data]

    def holds(self, text: str | bytes, *kinds: str) -> list[str]:
        """The kinds of secret that are in ``text``; all kinds unless some are named."""
        data = text if isinstance(text, bytes) else text.encode()
        return [kind for kind in kinds or self.secrets if self.found(data, kind)]

    def places(self, kind: str) -> set[str]:
        """Where in the requests to the engine this kind is."""
        return {
            f"{one.verb} {one.container.rpartition('-')[2]}"
            for one in self.asked
            if self.found(f"{one.path}?{one.query}".encode() + one.body, kind)
        }


class Between:
    """The face of the sandbox, with somebody who looks when the agent is about to start, and when it has."""

    def __init__(self, real: Sandbox, prepared: Callable[[Handle], None], started: Callable[[Handle], None]) -> None:
        self._real, self._prepared, self._started = real, prepared, started

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        handle = await self._real.prepare(job, secrets)
        self._prepared(handle)
        return handle

    async def start(self, handle: Handle) -> None:
        await self._real.start(handle)
        self._started(handle)

    async def status(self, handle: Handle) -> Status:
        return await self._real.status(handle)

    async def wait(self, handle: Handle, seconds: float) -> Status:
        return await self._real.wait(handle, seconds)

    async def outcome(self, handle: Handle) -> Outcome:
        return await self._real.outcome(handle)

    async def cancel(self, handle: Handle, reason: Reason) -> None:
        await self._real.cancel(handle, reason)

    async def remove(self, handle: Handle) -> None:
        await self._real.remove(handle)

    async def handles(self) -> tuple[Handle, ...]:
        return await self._real.handles()

    async def close(self) -> None:
        await self._real.close()


@pytest.fixture(scope="module")
def seen(
    docker_client: docker.DockerClient,
    images: Images,
    engine_host: str,
    instance: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Seen:
    """One task for all tests of a file."""
    if not engine_host.startswith("unix://"):
        pytest.skip("the tap is a Unix socket")
    folder = tmp_path_factory.mktemp("handed")
    with (
        tempfile.TemporaryDirectory(prefix="gofer-") as short,  # a socket's path has 107 bytes at most
        Tap(Path(short) / "engine.sock", engine_host.removeprefix("unix://")) as tap,
    ):
        return asyncio.run(one_task(docker_client, images, instance, folder, tap))


async def one_task(client: docker.DockerClient, images: Images, instance: str, folder: Path, tap: Tap) -> Seen:
    with happening(client, instance) as events:
        seen = await watched(client, images, instance, folder, tap)
    seen.events = events
    seen.asked, seen.sent = tap.asked(), tap.sent()
    return seen


async def watched(client: docker.DockerClient, images: Images, instance: str, folder: Path, tap: Tap) -> Seen:
    async with world(client, images, instance, folder, docker_host=tap.url) as w:
        seen = Seen(f"{w.github.git_url}/octo/hello", spelled(w.config))

        async def opener(url: str, settings: Settings) -> Sandbox:
            real = await open_sandbox(url, settings)
            return Between(
                real,
                lambda handle: deliver(seen, client, images, instance, handle),
                lambda handle: look(seen, client, instance, handle),
            )

        async with serving(w.config, opener=opener) as server:
            await w.github.connect_webhook(f"{server.url}/webhook")
            await ask(seen, w)
            await all_done(server, 1)
            seen.kept = {str(path): path.read_bytes() for path in (folder / "state").rglob("*") if path.is_file()}
        seen.secrets = {"app": app_secrets(w.github, w.config), "model": {KEY.get_secret_value()}, "fetch": tokens(w)}
    return seen


async def ask(seen: Seen, w: World) -> None:
    github = w.github
    repository = github.add_repository(
        "octo", "hello", FILES, private=True, default_branch=BRANCH, roles={"mona": "write"}
    )
    issue = github.add_issue(repository, TITLE, BODY, "mona")
    await github.comment(repository, issue, "mona", f"/agent {PROMPT}")
    seen.comment = (await w.result(issue)).body
    seen.fetches = len([e for e in github.log if e.operation.startswith("git/") and e.status == 200])
    for question in w.model.questions:
        seen.questions += messages.read(question.body).typed


def app_secrets(github: LocalGitHub, config: Config) -> set[str]:
    """The key whole, and each of its lines; the webhook's secret. All tokens are made with these."""
    key = config.private_key.get_secret_value()
    lines = {line for line in key.splitlines() if len(line) >= LINE_CHARACTERS and "-----" not in line}
    assert len(lines) > 10
    secret = github.webhook_secret.get_secret_value()
    return {key, secret, base64.b64encode(secret.encode()).decode(), *lines}


def tokens(w: World) -> set[str]:
    """Every token that the App was ever given, bare and as HTTP Basic carries it."""
    plain = set(w.github.state.tokens)
    assert plain
    return plain | {base64.b64encode(f"x-access-token:{token}".encode()).decode() for token in plain}


def spelled(config: Config) -> str:
    def plain(value: Any) -> Any:
        return value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)

    return json.dumps(config.sandbox_settings().model_dump(), default=plain)


def deliver(seen: Seen, client: docker.DockerClient, images: Images, instance: str, handle: Handle) -> None:
    """Copy the volumes through a container that never runs, as they are before any agent has been near them."""
    roles = {"ws": "/ws", "clean": "/clean", "inputs": "/inputs"}
    volumes = {f"gofer-{instance}-{handle.name}-{role}": {"bind": at, "mode": "ro"} for role, at in roles.items()}
    agent = client.containers.get(f"gofer-{instance}-{handle.name}-agent")
    mounted = {mount.get("Name") for mount in agent.attrs["Mounts"]}
    mirrors = client.volumes.list(filters={"label": [f"gofer.instance={instance}", "gofer.role=mirror"]})
    (mirror,) = [one for one in mirrors if one.name in mounted]  # others are of earlier tests' repositories
    roles, volumes = {**roles, "mirror": "/mirror"}, {**volumes, mirror.name: {"bind": "/mirror", "mode": "ro"}}
    holder = client.containers.create(images.base, ["true"], volumes=volumes, labels={"gofer.instance": instance})
    out = BytesIO()
    try:
        with tarfile.open(fileobj=out, mode="w") as everything:
            for at in roles.values():
                pieces, _ = holder.get_archive(at)
                with tarfile.open(fileobj=BytesIO(b"".join(pieces))) as one:
                    for member in one:
                        everything.addfile(member, one.extractfile(member) if member.isfile() else None)
    finally:
        holder.remove(force=True)
    seen.delivered = out.getvalue()


def look(seen: Seen, client: docker.DockerClient, instance: str, handle: Handle) -> None:
    """The engine's record of every container, and what the egress's processes could tell."""
    wanted = {"label": [f"gofer.instance={instance}", f"gofer.sandbox={handle.name}"]}
    for one in client.api.containers(all=True, filters=wanted):
        seen.inspect.append(client.api.inspect_container(one["Id"]))
    egress = client.containers.get(f"gofer-{instance}-{handle.name}-egress")
    script = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; find /tmp -type f -exec cat {} +"
    told = egress.exec_run(["sh", "-c", script]).output
    assert isinstance(told, bytes)
    seen.egress = told.decode(errors="replace")


@contextmanager
def happening(client: docker.DockerClient, instance: str) -> Iterator[list[tuple[int, str, str]]]:
    """Starts and ends of containers as they come, by the engine's own clock: (time, role, what). Heard live, since an
    engine remembers only the last few hundred events of everybody."""
    filters = {"type": "container", "label": f"gofer.instance={instance}", "event": ["start", "die"]}
    stream = client.api.events(filters=filters, decode=True)
    heard: list[tuple[int, str, str]] = []

    def listen() -> None:
        with suppress(OSError, ValueError, AttributeError):  # closed under it
            heard.extend(
                (event["timeNano"], event["Actor"]["Attributes"]["gofer.role"], event["Action"]) for event in stream
            )

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        stream.close()
        thread.join(10)


def files(seen: Seen) -> Iterator[tuple[str, bytes]]:
    """What was delivered: paths with their content, and with their target where they are links."""
    with tarfile.open(fileobj=BytesIO(seen.delivered)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            yield member.name, content.read() if content else member.linkname.encode()
