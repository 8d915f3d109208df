"""Many sandboxes at once through one service: whether all succeed, in how many seconds, with how much memory.

The service has a process of its own. The agent is a script in the real container, behind the real entry and egress; it
asks the model once, and the model answers when all have asked: so at one moment all of them are alive, and that is
when the egresses' memory is read. Beside it, in the same run: as many ``docker run`` of ``true``, eight at a time, and
one such task alone.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import docker
from aiohttp import web

from bot.demo import messages
from bot.demo.say import Say
from sandbox import Gateway
from tests.bench.bench_task import MIB, spread
from tests.bench.place import Place, engine_client, place
from tests.local_sandbox import KEY, gateway_to

COUNT = 40
AT_ONCE = 8  # plain containers: as many calls as the service has under way at most
# All 40 took about two minutes here; this is for a machine that does much else.
ALL_SECONDS = 1_200.0
ANSWER = messages.whole(Say("Done."), "m")


@dataclass
class Gathering:
    """A model that answers when everybody who will come has asked."""

    expected: int
    asked: list[float] = field(default_factory=list)
    _open: asyncio.Event = field(default_factory=asyncio.Event)
    _all: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        await request.read()
        if request.headers.get("x-api-key") != KEY.get_secret_value():
            return web.json_response({"type": "error"}, status=401)
        self.asked.append(time.monotonic())
        self._look()
        await self._open.wait()
        return web.json_response(ANSWER)

    def one_less(self) -> None:
        """Somebody will not come."""
        self.expected -= 1
        self._look()

    async def all_here(self) -> None:
        await self._all.wait()

    def open(self) -> None:
        self._open.set()

    def _look(self) -> None:
        if len(self.asked) >= self.expected:
            self._all.set()


def main() -> None:
    """Print what was measured; raises where a task failed. Needs the images and the engine."""
    failed = asyncio.run(measure(COUNT))
    if failed:
        raise RuntimeError(f"{len(failed)} of {COUNT} failed: {failed[0]}")


async def measure(count: int) -> list[str]:
    """What the failed ones said."""
    client = engine_client()
    try:
        plain = docker_runs(count)
        async with asyncio.timeout(2 * ALL_SECONDS):
            async with place(client) as here:
                alone = await together(here, 1)
            async with place(client) as here:
                all_of_them = await together(here, count)
        report(count, plain, alone, all_of_them)
        return [task["error"] for task in all_of_them.tasks if task["error"]]
    finally:
        client.close()


@dataclass
class Seen:
    """One run. Seconds since the service was told to begin; bytes."""

    tasks: list[dict[str, Any]] = field(default_factory=list)
    all_asked: float = 0.0
    seconds: float = 0.0
    idle: int = 0
    """Of the service's process before the first task, then at most."""
    most: int = 0
    egresses: list[int] = field(default_factory=list)


async def together(here: Place, count: int) -> Seen:
    """``count`` tasks at once, from prepare to remove."""
    gathering = Gathering(count)
    app = web.Application()
    app.router.add_post("/v1/messages", gathering.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, here.address, 0)
        await site.start()
        return await watched(here, gathering, gateway_to(runner.addresses[0][1]), count)
    finally:
        gathering.open()
        await runner.cleanup()


async def watched(here: Place, gathering: Gathering, gateway: Gateway, count: int) -> Seen:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.many", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    asked = {
        "settings": here.settings.model_dump(mode="json", exclude={"gateway"}),
        "gateway": gateway.model_dump(mode="json", exclude={"key"}),
        "key": KEY.get_secret_value(),
        "source": here.source.model_dump(mode="json"),
        "count": count,
    }
    seen = Seen()
    try:
        process.stdin.write(json.dumps(asked).encode())
        process.stdin.close()
        async with asyncio.timeout(ALL_SECONDS), asyncio.TaskGroup() as group:
            looking = group.create_task(memory_when_all_are_here(here, gathering, seen))
            await follow(process.stdout, gathering, seen)
            looking.cancel()  # where nobody has come
            await process.wait()
        return seen
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def follow(lines: asyncio.StreamReader, gathering: Gathering, seen: Seen) -> None:
    """Until the service's process has ended. Raises where it ends early."""
    began = 0.0
    async for line in lines:
        said = json.loads(line)
        match said["said"]:
            case "open":
                began, seen.idle = time.monotonic(), said["resident"]
            case "task":
                seen.tasks.append(said)
                if said["error"]:
                    print(f"  {said['name']}: {said['error']}", flush=True)
                    gathering.one_less()
            case "over":
                seen.seconds, seen.most = time.monotonic() - began, said["most"]
                seen.all_asked = max(gathering.asked, default=began) - began
    if not seen.seconds:
        raise RuntimeError("the service's process has ended early")


async def memory_when_all_are_here(here: Place, gathering: Gathering, seen: Seen) -> None:
    await gathering.all_here()
    labels = ["gofer.role=egress", f"gofer.instance={here.settings.instance}"]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(threads, lambda: here.client.api.containers(filters={"label": labels}))
        jobs = [loop.run_in_executor(threads, used, here.client.api, egress["Id"]) for egress in found]
        seen.egresses = await asyncio.gather(*jobs)
    gathering.open()


def used(api: docker.APIClient, container: str) -> int:
    """Bytes in its cgroup, without the page cache that the kernel would give back."""
    memory: Any = api.stats(container, stream=False, one_shot=True)["memory_stats"]
    inside = memory["stats"]
    return int(memory["usage"]) - int(inside.get("total_inactive_file", inside.get("inactive_file", 0)))


def docker_runs(count: int) -> float:
    """Seconds of as many plain containers."""
    command = ["docker", "run", "--rm", "--network", "none", "--entrypoint", "/bin/true", "gofer/base:latest"]
    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for done in [
            threads.submit(subprocess.run, command, check=True, capture_output=True, timeout=300) for _ in range(count)
        ]:
            done.result()
    return time.monotonic() - began


def report(count: int, plain: float, alone: Seen, seen: Seen) -> None:
    good = [task for task in seen.tasks if not task["error"]]
    print(f"{count} sandboxes at once: {len(good)} done, {len(seen.tasks) - len(good)} failed (aim: none)")
    print(f"  {count} times docker run, {AT_ONCE} at a time: {plain:.1f} s")
    print(f"  one alone, from prepare to remove: {alone.seconds:.1f} s, its question after {alone.all_asked:.1f} s")
    print(f"  all: {seen.seconds:.1f} s, {seen.seconds / plain:.1f} times docker run, ", end="")
    print(f"{seen.seconds / (count * alone.seconds):.2f} times one after another; all had asked after ", end="")
    print(f"{seen.all_asked:.1f} s")
    if good:
        for what in ("prepared", "ended", "gone"):
            print(f"  {what + ' after':16}{spread([task[what] for task in good])} s")
    print(f"  the service's process: {seen.idle / MIB:.0f} MiB idle, {seen.most / MIB:.0f} MiB at most")
    if seen.egresses:
        total = sum(seen.egresses)
        print(
            f"  {len(seen.egresses)} egresses: {total / MIB:.0f} MiB in all, {max(seen.egresses) / MIB:.0f} MiB the ",
            end="",
        )
        print(f"largest, {statistics.median(seen.egresses) / MIB:.0f} MiB the middle one (aim: 60 MiB each)")


if __name__ == "__main__":
    main()
