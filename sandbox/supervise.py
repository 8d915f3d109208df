"""Whoever asks or not: a task that was begun is driven to its outcome, and one that was started is watched to its end.

Level-triggered: what the files say is not finished is taken up, when it begins and when a service opens, and each
round looks anew. One process of a state directory does so for what it finds there (it holds a lock); every process
does for what it began or started itself.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from sandbox import Unreachable
from sandbox.background import spawn
from sandbox.job import Phase

LOCK_FILE = "supervisor.lock"
WATCH_SECONDS = 60.0  # one look after another for that long, then the files are read anew
AGAIN_SECONDS = 5.0  # after an engine that could not be asked
SWEEP_SECONDS = 3600.0  # between two looks for what has not been used for long
LOCK_SECONDS = 60.0  # between two tries for the lock: whoever held it may have ended

_log = logging.getLogger(__name__)


class Move(StrEnum):
    """What a task needs next."""

    NOTHING = "nothing"
    TIDY = "tidy"
    PREPARE = "prepare"
    START = "start"
    WATCH = "watch"
    COLLECT = "collect"


@dataclass(frozen=True)
class Facts:
    """What the files say of the present task. ``ready``: since this boot."""

    there: bool = False
    driven: bool = False
    ready: bool = False
    started: bool = False
    killed: bool = False
    ended: bool = False


def move(facts: Facts) -> Move:
    """What comes next. A task that is not driven belongs to a caller, who prepares, starts and collects: it is only
    kept to its limits."""
    if not facts.there:
        return Move.NOTHING
    if facts.ended:
        return Move.TIDY
    if not facts.driven:
        return Move.WATCH if facts.started else Move.NOTHING
    if facts.killed:
        return Move.COLLECT
    if facts.started:
        return Move.WATCH
    return Move.START if facts.ready else Move.PREPARE


class Steps(Protocol):
    """What a supervisor does to a sandbox by name; all may raise ``Unreachable``."""

    async def facts(self, name: str) -> Facts: ...

    async def ready(self, name: str) -> None:
        """Prepare the present task, or store why that failed."""
        ...

    async def go(self, name: str) -> None: ...

    async def watch(self, name: str, seconds: float) -> Phase: ...

    async def collect(self, name: str) -> None: ...

    async def tidy(self, name: str) -> None: ...

    async def unfinished(self) -> tuple[str, ...]:
        """Names with a task that may need something."""
        ...

    async def sweep(self) -> None: ...


class Supervisor:
    """One for each service; ``open`` after the engine was found, ``close`` before it is let go of."""

    def __init__(self, steps: Steps, state_dir: Path) -> None:
        self._steps = steps
        self._lock_file = state_dir / LOCK_FILE
        self._lock: int | None = None
        self._drivers: dict[str, asyncio.Task[None]] = {}
        self._keeper: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._keeper = spawn(self._keep(), name="supervisor")

    def take(self, name: str) -> None:
        """See to this one until nothing more is to be done. Fine where that is so already."""
        driver = self._drivers.get(name)
        if driver is None or driver.done():
            self._drivers[name] = driver = spawn(self._drive(name), name=f"drive {name}")
            driver.add_done_callback(lambda _: self._forget(name))

    def _forget(self, name: str) -> None:
        if name in self._drivers and self._drivers[name].done():
            del self._drivers[name]

    async def close(self) -> None:
        """Let go: another service goes on. Returns when nothing of this one is at work any more."""
        tasks = [*self._drivers.values(), *([self._keeper] if self._keeper else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _keep(self) -> None:
        while not self._locked():  # noqa: ASYNC110 - a fact of another process
            await asyncio.sleep(LOCK_SECONDS)
        await self._patiently("take up what is unfinished", self._take_up)
        while True:
            await self._patiently("remove what is not used", self._steps.sweep)
            await asyncio.sleep(SWEEP_SECONDS)

    async def _take_up(self) -> None:
        for name in await self._steps.unfinished():
            self.take(name)

    def _locked(self) -> bool:
        """Held until the process ends, however it does."""
        try:
            self._lock_file.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            _log.warning("no lock, so nobody here looks after tasks of other processes: %s", error)
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    async def _drive(self, name: str) -> None:
        over = False

        async def step() -> None:
            nonlocal over
            over = await self._step(name)

        while not over:
            await self._patiently(f"drive {name}", step)

    async def _step(self, name: str) -> bool:
        """One move; True: nothing more is to be done."""
        steps, facts = self._steps, await self._steps.facts(name)
        match move(facts):
            case Move.NOTHING:
                return True
            case Move.TIDY:
                await steps.tidy(name)
                return True
            case Move.PREPARE:
                await steps.ready(name)
            case Move.START:
                await steps.go(name)
            case Move.COLLECT:
                await steps.collect(name)
            case Move.WATCH:
                return await self._watch(name, facts)
        return False

    async def _watch(self, name: str, facts: Facts) -> bool:
        phase = await self._steps.watch(name, WATCH_SECONDS)
        if not facts.driven:
            return phase in {Phase.EXITED, Phase.ABSENT}
        if phase is Phase.EXITED:
            await self._steps.collect(name)
        elif phase in {Phase.READY, Phase.PREPARING}:  # the start was written down and not done
            await self._steps.go(name)
        return False

    async def _patiently(self, what: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do it; what cannot be done now is done in the next round. Nothing that goes wrong ends the supervision."""
        try:
            await work()
        except (Unreachable, OSError) as error:
            _log.warning("%s: not now: %s", what, error)
            await asyncio.sleep(AGAIN_SECONDS)
        except Exception:
            _log.exception("%s: failed, and is tried again", what)
            await asyncio.sleep(AGAIN_SECONDS)
