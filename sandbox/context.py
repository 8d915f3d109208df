"""What every part of the service works with, made once when it opens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.agents import Agent
from sandbox.background import spawn
from sandbox.engine import Engine
from sandbox.engines.hardening import Ground
from sandbox.engines.names import Names
from sandbox.engines.plan import Images
from sandbox.engines.threads import Threads
from sandbox.kept import Kept
from sandbox.settings import Settings
from sandbox.slots import Slots
from sandbox.state import SandboxState, StateDir
from sandbox.turns import Turns

# To make volumes, containers and a way out ready takes a processor about a second, most of it for the egress's start.
# Were all who ask made ready at once, each would take as long as all together, longer than anything here is waited for.
PREPARING_PER_CPU = 2
DISK_THREADS = 2  # small files with fsync; a slow disk must not hold up the event loop
TIDY_SECONDS = 2.0  # the bot ends within five seconds of SIGTERM; what is left then is found by its label
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Context:
    """``clock`` tells seconds since 1970; state files are written through ``disk``, off the event loop."""

    engine: Engine
    settings: Settings
    agents: Mapping[str, Agent]
    images: Images
    ground: Ground
    states: StateDir
    disk: Threads
    clock: Callable[[], float] = time.time
    tidying: set[asyncio.Task[None]] = field(default_factory=set)
    kept: Kept = field(default_factory=Kept)
    setups: Turns = field(default_factory=Turns)
    """Of those who want the same dependencies."""
    preparing: Slots = field(default_factory=lambda: Slots(PREPARING_PER_CPU))
    """Of preparations, until their way out is open: a fetch or a setup phase may take minutes, and waits for others."""

    def names(self, sandbox: str) -> Names:
        return Names(self.settings.instance, sandbox)

    def state(self, sandbox: str) -> SandboxState:
        return self.states.of(sandbox)

    def remove_later(self, container: str) -> None:
        """Remove beside the caller. If it fails, the label still leads `remove` of the sandbox to it."""
        self.tidy_later(self.engine.remove(container), name=f"remove {container}")

    def tidy_later(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Run beside the caller; ``close`` gives it a moment."""
        task = spawn(work, name=name)
        self.tidying.add(task)
        task.add_done_callback(self.tidying.discard)
        return task

    async def tidied(self) -> None:
        """Until all that runs beside has ended, or for a moment."""
        if self.tidying:
            await asyncio.wait(set(self.tidying), timeout=TIDY_SECONDS)

    async def close(self) -> None:
        """Give what is being tidied up a moment, then let go of the engine and the threads."""
        await self.tidied()
        await self.engine.close()
        self.disk.close()


def boot_id() -> str:
    """Changes with every boot; empty where it cannot be read, which counts as another boot."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""
