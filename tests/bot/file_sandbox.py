"""A sandbox whose state is files, so that it outlives the process that uses it, as containers do.

While ``FOLDER/hold`` is there, agents go on running; else they end at once. ``FOLDER/calls`` has every call and, after
it, ``done`` once it took effect. Where told, it kills its own process before or after the effect of one call.
"""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from sandbox import Handle, Job, Outcome, Phase, Reason, Secrets, Status
from tests.bot.fake_sandbox import CHANGED, GONE

TICK = 0.01


class FileSandbox:
    """``kill`` is (number of the call from 1, "before" or "after")."""

    def __init__(self, folder: Path, kill: tuple[int, str] | None) -> None:
        self._folder = folder
        self._kill = kill
        self._number = 0

    def _box(self, handle: Handle) -> Path:
        return self._folder / f"{handle.name}.box"

    def _log(self, *words: str) -> None:
        with (self._folder / "calls").open("a") as file:
            file.write(" ".join(words) + "\n")

    def _before(self, call: str, name: str) -> int:
        self._number += 1
        self._log(call, name)
        self._die_at(self._number, "before")
        return self._number

    def _after(self, number: int, call: str, name: str) -> None:
        self._log(call, name, "done")
        self._die_at(number, "after")

    def _die_at(self, number: int, when: str) -> None:
        if self._kill == (number, when):
            os.kill(os.getpid(), signal.SIGKILL)

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        number = self._before("prepare", job.name)
        assert secrets.fetch_token is not None
        handle = Handle(name=job.name)
        if not self._box(handle).exists():
            self._box(handle).write_text(Phase.READY)
        self._after(number, "prepare", job.name)
        return handle

    async def start(self, handle: Handle) -> None:
        number = self._before("start", handle.name)
        if self._box(handle).read_text() == Phase.READY:
            self._box(handle).write_text(Phase.RUNNING)
            self._log("agent", handle.name)
        self._after(number, "start", handle.name)

    async def status(self, handle: Handle) -> Status:
        number = self._before("status", handle.name)
        self._after(number, "status", handle.name)
        return self._look(handle)

    async def wait(self, handle: Handle, seconds: float) -> Status:
        number = self._before("wait", handle.name)
        while seconds > 0 and self._look(handle).phase is Phase.RUNNING:
            await asyncio.sleep(TICK)
            seconds -= TICK
        self._after(number, "wait", handle.name)
        return self._look(handle)

    async def outcome(self, handle: Handle) -> Outcome:
        number = self._before("outcome", handle.name)
        there = self._box(handle).exists()
        self._after(number, "outcome", handle.name)
        return CHANGED if there else GONE

    async def cancel(self, handle: Handle, reason: Reason) -> None:
        raise NotImplementedError

    async def remove(self, handle: Handle) -> None:
        number = self._before("remove", handle.name)
        self._box(handle).unlink(missing_ok=True)
        self._after(number, "remove", handle.name)

    async def handles(self) -> tuple[Handle, ...]:
        return tuple(Handle(name=path.stem) for path in self._folder.glob("*.box"))

    async def close(self) -> None:
        return

    def _look(self, handle: Handle) -> Status:
        box = self._box(handle)
        if not box.exists():
            return Status(phase=Phase.ABSENT)
        phase = Phase(box.read_text())
        if phase is Phase.RUNNING and not (self._folder / "hold").exists():
            phase = Phase.EXITED
        return Status(phase=phase, elapsed_seconds=1.0)
