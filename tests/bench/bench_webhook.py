"""How fast a webhook is acknowledged, beside the least that any such handler must do.

1,000 signed deliveries, 8 at a time, over kept-alive connections, against the real handler with the real store, and
against a bare aiohttp handler (the same HMAC, one fsynced SQLite insert, nothing else). Each server is a process of its
own with a new database on the same disk; the two take turns, so that a slow moment of the machine meets both.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web

from bot.signature import Signer
from bot.store import Store
from bot.webhook import SERVER_OPTIONS, Handler, make_webhook
from tests.bot.deliveries import APP_ID, SECRET, SERVED, headers_for, sample

DELIVERIES = 1_000
AT_ONCE = 8
RUNS = 7
AIM = 2.0
"""Times the bare handler's latency."""


@dataclass(frozen=True)
class Latency:
    """Milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, seconds: list[float]) -> Latency:
        cuts = statistics.quantiles(seconds, n=100, method="inclusive")
        return cls(cuts[49] * 1000, cuts[98] * 1000)


async def serve(kind: str, folder: Path) -> None:
    """A server in this process: its URL on stdout, until stdin ends."""
    async with contextlib.AsyncExitStack() as stack:
        if kind == "ours":
            store = await Store.open(f"sqlite:///{folder}/gofer.db")
            stack.push_async_callback(store.close)
            handler = make_webhook(SECRET, store.add, lambda: None, SERVED, APP_ID)
        else:
            handler = bare(stack.enter_context(contextlib.closing(fsynced(folder))))
        app = web.Application()
        app.router.add_post("/", handler)
        runner = web.AppRunner(app, access_log=None, **SERVER_OPTIONS)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(f"http://127.0.0.1:{runner.addresses[0][1]}/", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def fsynced(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE deliveries (id TEXT PRIMARY KEY, body BLOB)")
    return connection


def bare(connection: sqlite3.Connection) -> Handler:
    signer = Signer(SECRET)

    async def receive(request: web.Request) -> web.Response:
        body = await request.read()
        if not signer.signed(body, request.headers.get("X-Hub-Signature-256")):
            return web.Response(status=401)
        connection.execute("INSERT INTO deliveries VALUES (?, ?)", (request.headers["X-GitHub-Delivery"], body))
        return web.Response(status=202)

    return receive


@contextlib.asynccontextmanager
async def started(kind: str, folder: Path) -> AsyncIterator[str]:
    """A server in a process of its own, by its URL."""
    command = [sys.executable, "-m", "tests.bench.bench_webhook", "--serve", kind, "--folder", str(folder)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            yield (await process.stdout.readline()).decode().strip()
    finally:
        process.stdin.close()
        await process.wait()


async def measure(url: str, deliveries: list[tuple[bytes, dict[str, str]]]) -> Latency:
    """Send them all, ``AT_ONCE`` at a time; from sending to the whole answer."""
    waiting = list(reversed(deliveries))
    took: list[float] = []

    async def sender(session: aiohttp.ClientSession) -> None:
        while waiting:
            body, headers = waiting.pop()
            begun = time.perf_counter()
            async with session.post(url, data=io.BytesIO(body), headers=headers) as response:
                answer = await response.read()
            took.append(time.perf_counter() - begun)
            assert response.status == 202, (response.status, answer)

    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(sender(session))
    return Latency.of(took)


def signed_deliveries() -> list[tuple[bytes, dict[str, str]]]:
    """Commands in as many comments: nothing is known already."""
    payload = sample()
    made = []
    for index in range(DELIVERIES):
        payload["comment"]["id"] = 1_000_000 + index
        body = json.dumps(payload).encode()
        made.append((body, headers_for(body, delivery=f"bench-{index}")))
    return made


async def one_run(deliveries: list[tuple[bytes, dict[str, str]]], kind: str) -> Latency:
    with tempfile.TemporaryDirectory(prefix="gofer-bench-") as folder:
        async with started(kind, Path(folder)) as url:
            return await measure(url, deliveries)


async def bench() -> None:
    deliveries = signed_deliveries()
    runs: dict[str, list[Latency]] = {"bare": [], "ours": []}
    for _ in range(RUNS):
        for kind, found in runs.items():
            found.append(await one_run(deliveries, kind))
    median = {
        kind: Latency(statistics.median(run.p50 for run in found), statistics.median(run.p99 for run in found))
        for kind, found in runs.items()
    }
    print(f"webhook acknowledged: {DELIVERIES:,} signed deliveries, {AT_ONCE} at a time, medians of {RUNS} runs")
    for kind, name in (("bare", "bare handler"), ("ours", "gofer")):
        spread = ", ".join(f"{run.p50:.1f}/{run.p99:.1f}" for run in runs[kind])
        print(f"  {name:13} p50 {median[kind].p50:7.2f} ms   p99 {median[kind].p99:7.2f} ms   (each run: {spread})")
    ratio = [getattr(median["ours"], name) / getattr(median["bare"], name) for name in ("p50", "p99")]
    met = "met" if max(ratio) <= AIM else "missed"
    print(f"  ratio         p50 {ratio[0]:7.2f}      p99 {ratio[1]:7.2f}      aim: at most {AIM:g}: {met}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", choices=["ours", "bare"])
    parser.add_argument("--folder", type=Path)
    given, _ = parser.parse_known_args()
    if given.serve:
        asyncio.run(serve(given.serve, given.folder))
        return
    asyncio.run(bench())


if __name__ == "__main__":
    main()
