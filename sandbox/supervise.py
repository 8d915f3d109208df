"""Whoever asks or not: a task that was begun is driven to its outcome, and one that was started is watched to its end.

Level-triggered: what the files say is not finished is taken up, when it begins, when a service opens and every minute
after that, and each round looks anew. A task is driven by one process at a time: by who holds its lock, which no death
of a process outlives. To watch one, and to kill it in time, nobody needs a lock.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from sandbox import Unreachable, files
from sandbox.background import spawn
from sandbox.job import Phase

LOCK_FILE = "supervisor.lock"
WATCH_SECONDS = 60.0  # one look after another for that long, then the files are read anew
AGAIN_SECONDS = 5.0  # after an engine that could not be asked
SWEEP_SECONDS = 3600.0  # between two looks for what has not been used for long
LOOK_SECONDS = 60.0  # between two looks for what nobody drives: whoever did may have ended

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
    """What the files say of the present task, whose name is ``task``. ``ready``: since this boot."""

    there: bool = False
    task: str = ""
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

    def claim(self, name: str) -> int | None:
        """A descriptor that holds the lock of the present task, which is driven; None: another process has it."""
        ...

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
        self._wanted: set[str] = set()
        self._drivers: dict[str, asyncio.Task[None]] = {}
        self._keeper: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._keeper = spawn(self._keep(), name="supervisor")

    def take(self, name: str) -> None:
        """See to this one until nothing more is to be done. Fine where that is so already, or where it is at it."""
        self._wanted.add(name)
        if name not in self._drivers:
            self._drivers[name] = spawn(self._drive(name), name=f"drive {name}")

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
        clock = asyncio.get_running_loop().time
        sweep_at = clock()
        while True:
            await self._patiently("take up what is unfinished", self._take_up)
            if clock() >= sweep_at and self._keeps():
                await self._patiently("remove what is not used", self._steps.sweep)
                sweep_at = clock() + SWEEP_SECONDS
            await asyncio.sleep(LOOK_SECONDS)

    async def _take_up(self) -> None:
        for name in await self._steps.unfinished():
            self.take(name)

    def _keeps(self) -> bool:
        """Whether this process removes what is not used: the one that holds the state directory's lock."""
        if self._lock is None:
            self._lock = files.lock(self._lock_file)
        return self._lock is not None

    async def _drive(self, name: str) -> None:
        claims: dict[str, int] = {}
        over = False

        async def step() -> None:
            nonlocal over
            over = await self._step(name, claims)

        try:
            while name in self._wanted:
                self._wanted.discard(name)
                over = False
                while not over:
                    await self._patiently(f"drive {name}", step)
        finally:
            del self._drivers[name]
            for claim in claims.values():
                os.close(claim)

    async def _step(self, name: str, claims: dict[str, int]) -> bool:
        """One move; True: nothing more is to be done, or not by us."""
        steps, facts = self._steps, await self._steps.facts(name)
        if facts.driven and not facts.ended and facts.task not in claims:
            if (claim := steps.claim(name)) is None:
                return True
            claims[facts.task] = claim
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
