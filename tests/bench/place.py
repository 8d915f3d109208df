"""What a bench on real sandboxes stands on: an instance of its own, a local git host, the engine's events, a broom."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import docker

from bot.demo.github import LocalGitHub
from sandbox import GitHost, Settings, Source
from tests.bench.bench_task import Watch
from tests.engine import CALL_SECONDS, engine_address, sweep
from tests.journey import HOST
from tests.local_sandbox import bridge_address, settings_for

FILES = {"README.md": b"# Hello\n"}
CACHES = Path("/proc/sys/vm/drop_caches")


@dataclass(frozen=True)
class Place:
    """Started. ``settings`` have everything but a gateway."""

    client: docker.DockerClient
    settings: Settings
    watch: Watch
    address: str
    """This machine, as containers reach it."""
    source: Source


@asynccontextmanager
async def place(client: docker.DockerClient) -> AsyncIterator[Place]:
    """Everything that is made here is gone afterwards, whatever happens."""
    instance, address = f"bench{secrets.token_hex(3)}", bridge_address(client)
    watch = Watch(client, instance)
    try:
        with tempfile.TemporaryDirectory(prefix="gofer-bench-") as name:
            folder = Path(name)
            github = LocalGitHub(folder / "github")
            await github.start(public_host=HOST, also=[address])
            try:
                github.add_repository("bench", "hello", FILES)
                settings = settings_for(engine_address(), "gofer", instance, folder / "state")
                host = GitHost(base_url=github.git_url, private=True)
                source = Source(url=f"{github.git_url}/bench/hello")
                yield Place(client, settings.model_copy(update={"git_host": host}), watch, address, source)
            finally:
                await github.stop()
    finally:
        watch.close()
        sweep(client, instance)


def engine_client() -> docker.DockerClient:
    return docker.DockerClient(base_url=engine_address(), timeout=CALL_SECONDS)


def cold() -> bool:
    """Forget what the kernel has read from disk; False where this process may not."""
    try:
        CACHES.write_text("3\n")
    except OSError:
        return False
    return True
