"""A process that works on one sandbox and is killed (SIGKILL, by itself) before its Nth call of the engine.

``python -m tests.sandbox.victim NTH WHAT JOB SETTINGS KEY SCRIPT`` with WHAT one of prepare, outcome, remove,
fetch, task (begun and driven to its outcome), snapshot, copy (to NAME-copy). Exit status 0: it came to its end before
that call. Nothing is faked: the engine is counted, not replaced.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from sandbox import Gateway, Handle, Job, Phase, Secrets, Settings
from sandbox.engines.docker import DockerEngine
from sandbox.service import open_local
from tests.scripted import agents

T = TypeVar("T")


class Countdown:
    """Counts the engine's calls; the Nth never happens."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def arm(self) -> None:
        plain = DockerEngine._call

        async def counted(engine: DockerEngine, what: str, work: Callable[[], T], seconds: float | None = None) -> T:
            self.left -= 1
            if self.left <= 0:
                print(what, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            return await plain(engine, what, work, seconds)

        DockerEngine._call = counted  # type: ignore[method-assign, assignment]


async def main(nth: int, what: str, job: Job, settings: Settings, script: str) -> None:
    service = await open_local(settings, agents=agents(script))
    handle = Handle(name=job.name)
    if what == "task":
        # What a service looks for when it opens is counted too: before the task is written down there is none to go on.
        await service.begin(job.model_copy(update={"source": None}))
    Countdown(nth).arm()
    if what == "prepare":
        await service.prepare(job, Secrets())
    elif what == "outcome":
        await service.outcome(handle)
    elif what == "remove":
        await service.remove(handle)
    elif what == "fetch":
        assert job.source is not None
        await service.fetch(handle, job.source, Secrets(), job.limits)
    elif what == "task":
        while (await service.wait(handle, 10)).phase is not Phase.EXITED:
            pass
        await service.outcome(handle)
    elif what == "snapshot":
        await service.snapshot(handle)
    else:
        await service.copy(Handle(name=f"{job.name}-copy"), handle)
    await service.close()


if __name__ == "__main__":
    nth, what, job, settings, key, script = sys.argv[1:]
    loaded = Settings.model_validate_json(Path(settings).read_text())
    gateway: Gateway = loaded.gateway.model_copy(update={"key": SecretStr(key)})
    asyncio.run(
        main(
            int(nth),
            what,
            Job.model_validate_json(Path(job).read_text()),
            loaded.model_copy(update={"gateway": gateway}),
            script,
        )
    )
