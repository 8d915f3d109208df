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
RUN_SECONDS = 120.0
"""For one run, on a machine that does much else."""
AIM = 2.0
"""Times the bare handler's latency."""


@dataclass(frozen=True)
class Run:
    """Milliseconds: latency as the sender sees it, and the server's processor time for one delivery."""

    p50: float
    p99: float
    cpu: float

    @classmethod
    def of(cls, took: list[float], server_cpu: float) -> Run:
        cuts = statistics.quantiles(took, n=100, method="inclusive")
        return cls(cuts[49] * 1000, cuts[98] * 1000, server_cpu / len(took) * 1000)

    @classmethod
    def median(cls, runs: list[Run]) -> Run:
        return cls(*(statistics.median(getattr(run, name) for run in runs) for name in ("p50", "p99", "cpu")))


async def serve(kind: str, folder: Path) -> None:
    """A server in this process: its URL on stdout, and when stdin ends the processor time that it took to serve."""
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
        begun = time.process_time()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        print(time.process_time() - begun, flush=True)


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


async def measure(url: str, deliveries: list[tuple[bytes, dict[str, str]]]) -> list[float]:
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

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(sender(session) for _ in range(AT_ONCE)))
    return took


def signed_deliveries() -> list[tuple[bytes, dict[str, str]]]:
    """Commands in as many comments: nothing is known already."""
    payload = sample()
    made = []
    for index in range(DELIVERIES):
        payload["comment"]["id"] = 1_000_000 + index
        body = json.dumps(payload).encode()
        made.append((body, headers_for(body, delivery=f"bench-{index}")))
    return made


async def one_run(deliveries: list[tuple[bytes, dict[str, str]]], kind: str) -> Run:
    """A server in a process of its own, all deliveries, and its end."""
    with tempfile.TemporaryDirectory(prefix="gofer-bench-") as folder:
        command = [sys.executable, "-m", "tests.bench.bench_webhook", "--serve", kind, "--folder", folder]
        pipe = asyncio.subprocess.PIPE
        server = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            async with asyncio.timeout(RUN_SECONDS):
                url = (await server.stdout.readline()).decode().strip()
                took = await measure(url, deliveries)
                server.stdin.close()
                return Run.of(took, float(await server.stdout.readline()))
        finally:
            server.stdin.close()
            await server.wait()


async def bench() -> None:
    deliveries = signed_deliveries()
    runs: dict[str, list[Run]] = {"bare": [], "ours": []}
    for _ in range(RUNS):
        for kind, found in runs.items():
            found.append(await one_run(deliveries, kind))
    bare, ours = Run.median(runs["bare"]), Run.median(runs["ours"])
    print(f"webhook acknowledged: {DELIVERIES:,} signed deliveries, {AT_ONCE} at a time, medians of {RUNS} runs")
    for name, run in (("bare handler", bare), ("gofer", ours)):
        print(f"  {name:12}  p50 {run.p50:6.2f} ms  p99 {run.p99:6.2f} ms  server's cpu {run.cpu:5.2f} ms")
    p50, p99 = ours.p50 / bare.p50, ours.p99 / bare.p99
    print(f"  {'ratio':12}  p50 {p50:6.2f}     p99 {p99:6.2f}     server's cpu {ours.cpu / bare.cpu:5.2f}")
    print(f"  aim: p50 and p99 at most {AIM:g} times the bare handler's: {'met' if max(p50, p99) <= AIM else 'missed'}")
    for name, each in (("bare handler", runs["bare"]), ("gofer", runs["ours"])):
        print(f"  each run, p50/p99, {name}: {', '.join(f'{one.p50:.1f}/{one.p99:.1f}' for one in each)}")


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
