"""A repository of 300 MB into a workspace: without a mirror, the first time through one, and after that.

Over real git, TLS and the real egress, from a host on this machine. Beside it, in the same run: plain ``git clone`` of
the same URL on the machine itself, whole and one commit deep. Figures are seconds, and ratios to the plain clones.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker

from bot.demo.github import LocalGitHub, Repository
from sandbox import Gateway, GitHost, Handle, Limits, Secrets, Settings, Source
from sandbox.service import Service, open_local
from tests.attacks.githost_tls import PrivateHost, private_host
from tests.bench.bench_task import Watch
from tests.engine import engine_address, sweep
from tests.local_sandbox import bridge_address, settings_for
from tests.scripted import agents

MIB = 2**20
LARGE_FILES, LARGE_BYTES, ROUNDS = 20, 2 * MIB, 7
SMALL_FILES = 2_000
AGAIN = 5
LIMITS = Limits(workspace_bytes=2 * 2**30, fetch_seconds=600)
NAME = "host.docker.internal"


def main() -> None:
    """Print the table. Needs the images and the engine."""
    asyncio.run(measure())


async def measure() -> None:
    client = docker.DockerClient(base_url=engine_address())
    instance = f"bench{secrets.token_hex(3)}"
    watch = Watch(client, instance)
    try:
        with tempfile.TemporaryDirectory(prefix="gofer-bench-") as place:
            folder = Path(place)
            with private_host(bridge_address(client), NAME, folder) as host:
                repository = large(host.github)
                size = sum(file.stat().st_size for file in repository.git_dir.rglob("*.pack")) / MIB
                print(f"repository: {size:.0f} MiB of packs, {ROUNDS} commits, {SMALL_FILES + LARGE_FILES} files")
                whole, shallow = plain(host, folder), plain(host, folder, "--depth=1")
                settings = settings_for(engine_address(), "gofer", instance, folder / "state")
                git_host = GitHost(base_url=host.url, private=True, ca_pem=host.ca_pem)
                settings = settings.model_copy(update={"git_host": git_host, "gateway": gateway(settings)})
                await rows(watch, settings, host, whole, shallow)
    finally:
        watch.close()
        sweep(client, instance)
        client.close()


def gateway(settings: Settings) -> Gateway:
    return settings.gateway.model_copy(update={"host_gateway": True})


async def rows(watch: Watch, settings: Settings, host: PrivateHost, whole: float, shallow: float) -> None:
    print(f"{'':32}{'seconds':>9}{'helper':>9}{'to whole':>10}{'to depth 1':>12}")
    line("git clone, whole", whole, None, whole, shallow)
    line("git clone, depth 1", shallow, None, whole, shallow)
    for mirror, rounds in ((False, 2), (True, 1 + AGAIN)):
        service = await open_local(settings.model_copy(update={"mirror": mirror}), agents=agents(""))
        try:
            for number in range(rounds):
                took, helper = await one(watch, service, host)
                what = "through the mirror, " + ("first" if number == 0 else f"again {number}")
                line(what if mirror else "workspace without a mirror", took, helper, whole, shallow)
        finally:
            await service.close()


async def one(watch: Watch, service: Service, host: PrivateHost) -> tuple[float, float]:
    """Seconds for all of the fetch, and of those the fetch helper's own, from its start to its end."""
    handle = Handle(name=f"b-{secrets.token_hex(4)}")
    since = time.time()
    began = time.perf_counter()
    try:
        await service.fetch(handle, Source(url=f"{host.url}/bench/large"), Secrets(), LIMITS)
        took = time.perf_counter() - began
    finally:
        await service.remove(handle)
    return took, watch.first("fetch", "die", since) - watch.first("fetch", "start", since)


def line(what: str, seconds: float, helper: float | None, whole: float, shallow: float) -> None:
    inner = f"{helper:9.2f}" if helper is not None else f"{'':9}"
    print(f"{what:32}{seconds:9.2f}{inner}{seconds / whole:10.2f}{seconds / shallow:12.2f}", flush=True)


def plain(host: PrivateHost, folder: Path, *flags: str) -> float:
    """``git clone`` by this machine itself."""
    ca = folder / "ca.pem"
    ca.write_text(host.ca_pem)
    address = host.github.git_url.rpartition("//")[2].rpartition(":")[0]
    port = host.url.rpartition(":")[2]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_SSL_CAINFO": str(ca)}
    resolve = f"http.curloptResolve={NAME}:{port}:{address}"
    target = folder / f"plain-{secrets.token_hex(4)}"
    began = time.perf_counter()
    subprocess.run(
        ["git", "-c", resolve, "clone", "-q", *flags, f"{host.url}/bench/large.git", str(target)],
        check=True, env=environment, timeout=600,
    )  # fmt: skip
    return time.perf_counter() - began


def large(github: LocalGitHub) -> Repository:
    """History of random bytes, most of it not in the last commit; small files beside them."""
    repository = github.add_repository("bench", "large", {})
    stream = subprocess.Popen(
        ["git", "fast-import", "--quiet", "--date-format=raw"], cwd=repository.git_dir, stdin=subprocess.PIPE
    )
    assert stream.stdin is not None
    for piece in history():
        stream.stdin.write(piece)
    stream.stdin.close()
    if stream.wait():
        raise RuntimeError("the repository could not be made")
    return repository


def history() -> Iterator[bytes]:
    for number in range(ROUNDS):
        seconds = 1_750_000_000 + number
        yield f"commit refs/heads/main\ncommitter B <b@example.com> {seconds} +0000\ndata 2\nc\n".encode()
        for file in range(LARGE_FILES):
            yield f"M 100644 inline large/{file}.bin\ndata {LARGE_BYTES}\n".encode() + os.urandom(LARGE_BYTES) + b"\n"
        for file in range(SMALL_FILES if number == 0 else 0):
            body = f"{file}\n".encode() * 100
            yield f"M 100644 inline src/{file % 50}/{file}.txt\ndata {len(body)}\n".encode() + body + b"\n"
