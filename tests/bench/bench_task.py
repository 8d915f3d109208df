"""Webhook to first model request by stage, agent exit to result posted, memory of the bot and of one egress.

Beside it, in the same run: ``docker run`` of the same image and ``git clone`` of the same repository. Everything is
real but GitHub and the model, which are local; the bot runs in a process of its own, and is watched from outside: by
the engine's events, by what GitHub was told, by what the model was asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.models.containers import Container

from sandbox.engines.answers import moment
from sandbox.images.plan import RECIPES
from tests.engine import Images, engine_address, sweep
from tests.journey import World, issue_in, world

RUNS = 7
START_SECONDS = 30.0
# The bot spaces its writes to GitHub (bot/github_pace.py): tasks one after another would wait for each other's.
PAUSE_SECONDS = 8.0
MIB = 2**20

STAGES = ("acknowledged", "asked and told", "volumes", "egress ready", "fetched", "agent started", "model asked")


@dataclass
class Event:
    """One of the engine's events: what happened to the container of which role, when (seconds since 1970)."""

    role: str
    action: str
    at: float


class Watch:
    """The engine's events of one instance, collected in a thread."""

    def __init__(self, client: docker.DockerClient, instance: str) -> None:
        self.events: list[Event] = []
        filters = {"type": "container", "label": f"gofer.instance={instance}"}
        self._stream = client.api.events(decode=True, filters=filters)
        self._thread = threading.Thread(target=self._read, name="bench-events", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for event in self._stream:
            attributes = event["Actor"]["Attributes"]
            self.events.append(Event(attributes.get("gofer.role", ""), event["Action"], event["timeNano"] / 1e9))

    def first(self, role: str, action: str, after: float) -> float:
        """When it happened, 0 if it has not."""
        return next((e.at for e in self.events if (e.role, e.action) == (role, action) and e.at >= after), 0.0)

    def close(self) -> None:
        self._stream.close()


@dataclass(frozen=True)
class Measured:
    """One task. ``stages`` are seconds since the webhook was sent, in the order of ``STAGES``."""

    stages: tuple[float, ...]
    posted: float
    """Seconds from the agent's exit to the result on GitHub."""
    egress_bytes: int


def main() -> None:
    """Print the table. Needs the images and the engine."""
    asyncio.run(measure())


async def measure() -> None:
    client = docker.DockerClient(base_url=engine_address())
    instance = f"bench{secrets.token_hex(3)}"
    ids = {kind: client.images.get(f"gofer/{kind}:latest").id or "" for kind in RECIPES}
    images = Images("gofer", **ids)
    watch = Watch(client, instance)
    try:
        with tempfile.TemporaryDirectory(prefix="gofer-bench-") as folder:
            async with world(client, images, instance, Path(folder), reads=False) as w, bot(w) as process:
                await one(w, client, watch, 0)  # warm-up: migrations, page cache
                measured = []
                for number in range(1, RUNS + 1):
                    await asyncio.sleep(PAUSE_SECONDS)
                    measured.append(await one(w, client, watch, number))
                memory = resident(process.pid)
                baseline = [plain(images.claude, w) for _ in range(RUNS)]
        report(measured, memory, baseline)
    finally:
        watch.close()
        sweep(client, instance)
        client.close()


@contextlib.asynccontextmanager
async def bot(w: World) -> AsyncIterator[asyncio.subprocess.Process]:
    """``gofer serve`` in a process of its own, with the webhook connected."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | w.environment | {"GOFER_LISTEN": f"127.0.0.1:{port}", "GOFER_LOG_LEVEL": "WARNING"}
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "bot", "serve", env=environment)
    try:
        await listening(port)
        await w.github.connect_webhook(f"http://127.0.0.1:{port}/webhook")
        yield process
    finally:
        process.terminate()
        await process.wait()


async def listening(port: int) -> None:
    async with asyncio.timeout(START_SECONDS):
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            await asyncio.sleep(0.05)


async def one(w: World, client: docker.DockerClient, watch: Watch, number: int) -> Measured:
    """One comment on an issue of its own, to its result."""
    if number == 0:
        issue_in(w)
    (repository,) = w.github.state.repositories.values()
    issue = w.github.add_issue(repository, f"Task {number}", "", "mona")
    w.model.seen.clear()
    monotonic_to_epoch = time.time() - time.monotonic()
    sent = time.time()
    await w.github.comment(repository, issue, "mona", "/agent write notes")
    acknowledged = time.time()
    await w.model.wait_for_questions(1, START_SECONDS)
    egress = client.containers.list(filters={"label": ["gofer.role=egress", f"gofer.instance={w.config.instance}"]})[0]
    stats: Any = egress.stats(stream=False)
    used = int(stats["memory_stats"]["usage"])
    ready = said_ready(egress)
    asked = w.model.questions[0].at + monotonic_to_epoch
    result = await w.result(issue)
    posted = time.time()
    status = result.created_at.timestamp()
    died = watch.first("agent", "die", sent)
    stages = (
        acknowledged,
        status,
        watch.first("store", "die", sent),
        ready,
        watch.first("fetch", "die", sent),
        watch.first("agent", "start", sent),
        asked,
    )
    return Measured(tuple(at - sent for at in stages), posted - died, used)


def said_ready(egress: Container) -> float:
    """When the egress wrote that it is ready, by the engine's clock (the fetch waits for it inside its container)."""
    for line in egress.logs(timestamps=True).splitlines():
        stamp, _, text = line.partition(b" ")
        if b'"ready"' in text:
            return moment(stamp.decode()) or 0.0
    return 0.0


def resident(pid: int) -> int:
    """Bytes of RSS."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


@dataclass(frozen=True)
class Plain:
    """What the parts cost by themselves: seconds of ``docker run`` of the agent's image and of ``git clone``."""

    run: float
    clone: float


def plain(image: str, w: World) -> Plain:
    """Once each, one after another."""
    started = time.monotonic()
    run = ["docker", "run", "--rm", "--network", "none", "--entrypoint", "/bin/true", image]
    subprocess.run(run, check=True, capture_output=True)
    ran = time.monotonic()
    (repository,) = w.github.state.repositories.values()
    with tempfile.TemporaryDirectory() as folder:
        url = f"file://{repository.git_dir}"
        subprocess.run(["git", "clone", "-q", "--depth", "1", url, folder], check=True, capture_output=True)
    return Plain(ran - started, time.monotonic() - ran)


def report(measured: list[Measured], bot_bytes: int, baseline: list[Plain]) -> None:
    """The table, as medians, with least and most."""
    print(f"{len(measured)} tasks one after another, after one to warm up; seconds since the webhook was sent")
    for index, name in enumerate(STAGES):
        print(f"  {name:<22}{spread([m.stages[index] for m in measured])}")
    by_itself = [each.run + each.clone for each in baseline]
    print(f"  {'docker run':<22}{spread([each.run for each in baseline])}")
    print(f"  {'git clone':<22}{spread([each.clone for each in baseline])}")
    first = statistics.median(m.stages[-1] for m in measured)
    ratio = first / statistics.median(by_itself)
    print(f"  webhook to first model request: {first:.2f} s (aim 2.5), {ratio:.1f} times docker run + git clone")
    print(f"  agent exit to result posted: {spread([m.posted for m in measured])} (aim 1)")
    print(f"  bot {bot_bytes / MIB:.0f} MiB resident (aim 120)", end=", ")
    print(f"egress {statistics.median(m.egress_bytes for m in measured) / MIB:.0f} MiB in its cgroup (aim 60)")


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):6.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
