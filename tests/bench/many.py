"""A service in a process of its own, with the scripted agent, and as many tasks at once as it is told.

``bench_sandboxes`` starts it, with one JSON object on standard input; it answers with lines of JSON: ``open``, then
one ``task`` for each, then ``over``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from sandbox import Gateway, Handle, Job, Limits, Phase, Secrets, Settings, Source, State
from sandbox.service import Service, open_local
from tests.scripted import GOOD, agents

# Small: the disk must be able to keep every promise at once.
LIMITS = Limits(workspace_bytes=64 * 2**20, workspace_inodes=10_000)
LOOK_SECONDS = 10.0


async def run(asked: dict[str, Any]) -> None:
    key = SecretStr(asked["key"])
    settings = Settings.model_validate(asked["settings"])
    gateway = Gateway.model_validate({**asked["gateway"], "key": key})
    service = await open_local(settings.model_copy(update={"gateway": gateway}), agents=agents(GOOD))
    source = Source.model_validate(asked["source"])
    try:
        say(said="open", resident=status_bytes("VmRSS"))
        names = [f"b-{number}" for number in range(asked["count"])]
        await asyncio.gather(*(one(service, name, source) for name in names))
        say(said="over", resident=status_bytes("VmRSS"), most=status_bytes("VmHWM"))
    finally:
        await service.close()


async def one(service: Service, name: str, source: Source) -> None:
    """One life. What went wrong is the answer, and no trouble of the others'."""
    began = time.monotonic()
    error, prepared = "", 0.0
    try:
        job = Job(name=name, prompt="Write some notes.", source=source, limits=LIMITS)
        handle = await service.prepare(job, Secrets())
        prepared = time.monotonic() - began
        await service.start(handle)
        while (await service.wait(handle, LOOK_SECONDS)).phase is Phase.RUNNING:
            pass
        outcome = await service.outcome(handle)
        changed = outcome.changes.patch if outcome.changes else None
        if outcome.state is not State.SUCCEEDED or not changed:
            error = f"{outcome.state}: {outcome.reason}: {outcome.error} {'; '.join(outcome.notes)}"
    except Exception as trouble:
        error = f"{type(trouble).__name__}: {trouble}"
    ended = time.monotonic() - began
    try:
        await service.remove(Handle(name=name))
    except Exception as trouble:
        error += f" (removal) {type(trouble).__name__}: {trouble}"
    say(said="task", name=name, error=error, prepared=prepared, ended=ended, gone=time.monotonic() - began)


def say(**words: object) -> None:
    print(json.dumps(words), flush=True)


def status_bytes(field: str) -> int:
    """Of this process: ``VmRSS`` now, ``VmHWM`` at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.stdin.read())))
