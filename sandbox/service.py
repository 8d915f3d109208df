"""The life of a sandbox over an engine: the in-process implementation of ``sandbox.Sandbox``.

Nothing that matters is in memory: a new service finds every sandbox again from the engine's labels and its own state
files, and goes on from what they say.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from sandbox import PrepareFailed, Unreachable
from sandbox.agents import AGENTS, Agent
from sandbox.clear import clear, everyone, traces, uninstall
from sandbox.collect import collect, gone
from sandbox.context import Context, boot_id
from sandbox.engine import Gone, Look
from sandbox.engines.docker import CALL_SECONDS
from sandbox.job import Handle, Job, Outcome, Phase, Reason, Secrets, Status
from sandbox.opening import open_context
from sandbox.prepare import prepare
from sandbox.settings import Settings
from sandbox.state import Killed, Started
from sandbox.turns import Turns
from sandbox.verdict import Kill
from sandbox.watch import Watch

T = TypeVar("T")

POLL_SECONDS = 2.0  # between two looks at a running agent; its end is usually heard of at once

_log = logging.getLogger(__name__)


async def open_local(
    settings: Settings,
    agents: Mapping[str, Agent] = AGENTS,
    clock: Callable[[], float] = time.time,
    answer_seconds: float = CALL_SECONDS,
) -> Service:
    """Connect to the engine, which has ``answer_seconds`` for each of its answers, and find the images.

    Raises ``Unreachable`` where no engine answers, ``RuntimeError`` with what to do where an image or the wanted
    runtime is missing.
    """
    return Service(await open_context(settings, agents, clock, answer_seconds))


class Service:
    """See ``sandbox.Sandbox`` for the contract of every method."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._watch = Watch(context)
        # Callers for one sandbox are asked to come one at a time. Two that do not would remove each other's half-made
        # things, or read one work tree twice: they wait here. Looking and cancelling never wait.
        self._turns = Turns()

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        async with self._turns.of(job.name):
            return await self._prepare(job, secrets)

    async def _prepare(self, job: Job, secrets: Secrets) -> Handle:
        context, handle = self._context, Handle(name=job.name)
        if await self._is_ready(job.name):
            return handle
        if await traces(context, job.name):
            await clear(context, job.name)
        try:
            await prepare(context, job, secrets)
        except Exception as error:
            await self._tidy(job.name)
            if isinstance(error, PrepareFailed):
                _log.info("%s: could not be prepared (%s): %s", job.name, error.reason, error)
            raise
        return handle

    async def _is_ready(self, name: str) -> bool:
        """Prepared or further, and still there. After another boot, one that has not been started is not."""
        state = self._context.state(name)
        if await self._disk(state.outcome) is not None or await self._disk(state.started) is not None:
            return True
        ready = await self._disk(state.ready)
        return ready is not None and ready.boot == boot_id() and await self._agent(name) is not None

    async def _tidy(self, name: str) -> None:
        try:
            await clear(self._context, name)
        except (Unreachable, OSError) as error:
            _log.warning("%s: not everything could be removed, the next prepare or remove will: %s", name, error)

    async def start(self, handle: Handle) -> None:
        async with self._turns.of(handle.name):
            await self._start(handle.name)

    async def _start(self, name: str) -> None:
        context = self._context
        state = context.state(name)
        look = await self._agent(name)
        if look is None or look.started or await self._disk(state.killed) is not None:
            return
        if await self._disk(state.ready) is None:
            raise PrepareFailed(Reason.LOST, "The sandbox has not been prepared.")
        egress = await context.engine.look(context.names(name).of("egress"))
        if egress is None or not egress.running:  # as after a boot: never an agent without its way out in place
            await self._intend(name, Kill.EGRESS_LOST)
            return
        started = Started(at=context.clock())
        await self._disk(lambda: state.set_started(started))
        try:
            await context.engine.start(context.names(name).of("agent"))
        except Gone:
            _log.warning("%s: the agent's container went away before its start", name)

    async def status(self, handle: Handle) -> Status:
        name = handle.name
        state = self._context.state(name)
        job = await self._disk(state.job)
        if job is None:
            return Status(phase=Phase.PREPARING if await traces(self._context, name) else Phase.ABSENT)
        if await self._disk(state.outcome) is not None or await self._disk(state.killed) is not None:
            return await self._ended(name)
        look = await self._agent(name)
        if look is not None and look.running and look.started_at is not None:
            return await self._running(name, job, look.started_at)
        if look is not None and look.started:
            return Status(phase=Phase.EXITED, elapsed_seconds=_elapsed(look, self._context.clock()))
        if await self._disk(state.started) is not None and look is None:
            return Status(phase=Phase.EXITED)  # gone: `outcome` says lost
        ready = await self._disk(state.ready) is not None and look is not None
        return Status(phase=Phase.READY if ready else Phase.PREPARING)

    async def _running(self, name: str, job: Job, started_at: float) -> Status:
        agent = self._context.agents[job.agent]
        progress, due = await self._watch.look(name, agent, job.limits.wall_seconds, started_at)
        elapsed = max(0.0, self._context.clock() - started_at)
        if due is None:
            return Status(phase=Phase.RUNNING, elapsed_seconds=elapsed, progress=progress)
        look = await self._agent(name)
        if look is not None and look.running:  # it may have ended by itself while we looked
            await self._kill(name, due)
        return Status(phase=Phase.EXITED, elapsed_seconds=elapsed, progress=progress)

    async def _ended(self, name: str) -> Status:
        """A kill is recorded or an outcome stored: whatever still runs is (again) killed."""
        look = await self._agent(name)
        if look is not None and look.running:
            await self._context.engine.kill(self._context.names(name).of("agent"))
            look = await self._agent(name)
        elapsed = _elapsed(look, self._context.clock())
        return Status(phase=Phase.EXITED, elapsed_seconds=elapsed)

    async def wait(self, handle: Handle, seconds: float) -> Status:
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while True:
            status = await self.status(handle)
            left = until - clock()
            if status.phase in {Phase.EXITED, Phase.ABSENT} or left <= 0:
                return status
            step = min(left, POLL_SECONDS)
            if status.phase is Phase.RUNNING:
                await self._context.engine.ended(self._context.names(handle.name).of("agent"), step)
            else:
                await asyncio.sleep(step)

    async def outcome(self, handle: Handle) -> Outcome:
        async with self._turns.of(handle.name):
            return await self._outcome(handle)

    async def _outcome(self, handle: Handle) -> Outcome:
        context, name = self._context, handle.name
        state = context.state(name)
        if (stored := await self._disk(state.outcome)) is not None:
            return stored
        job = await self._disk(state.job)
        if job is None:
            return gone()
        look = await self._stopped(name)
        outcome = await collect(context, job, look, await self._disk(state.killed))
        await self._disk(lambda: state.set_outcome(outcome))
        self._watch.forget(name)
        context.remove_later(context.names(name).of("egress"))  # it holds the model's key, and nobody needs it now
        return outcome

    async def _stopped(self, name: str) -> Look | None:
        """The agent's last state. One that still runs, or could still be started, is cancelled."""
        look = await self._agent(name)
        if look is not None and (look.running or not look.started):
            await self._kill(name, Kill.CANCELLED)
            look = await self._agent(name)
        return look

    async def cancel(self, handle: Handle, reason: Reason) -> None:
        await self._kill(handle.name, Kill(reason.value))

    async def _kill(self, name: str, reason: Kill) -> None:
        """The intent first, on disk; then the deed; then see that it is done."""
        await self._intend(name, reason)
        await self._context.engine.kill(self._context.names(name).of("agent"))

    async def _intend(self, name: str, reason: Kill) -> None:
        state, killed = self._context.state(name), Killed(reason=reason, at=self._context.clock())
        held = await self._disk(lambda: state.set_killed(killed))
        _log.info("%s: ended (%s)", name, held.reason)

    async def remove(self, handle: Handle) -> None:
        async with self._turns.of(handle.name):
            self._watch.forget(handle.name)
            await clear(self._context, handle.name)

    async def handles(self) -> tuple[Handle, ...]:
        return tuple(Handle(name=name) for name in sorted(await everyone(self._context)))

    async def uninstall(self) -> None:
        """Remove what belongs to the instance itself; no sandbox of it may be left. For tests and `gofer demo`."""
        await uninstall(self._context)

    async def close(self) -> None:
        await self._context.close()

    async def _agent(self, name: str) -> Look | None:
        return await self._context.engine.look(self._context.names(name).of("agent"))

    async def _disk(self, work: Callable[[], T]) -> T:
        return await self._context.disk.run(work)


def _elapsed(look: Look | None, now: float) -> float:
    """Seconds from the agent's start to its end, or to now while it runs."""
    if look is None or look.started_at is None:
        return 0.0
    return max(0.0, (look.finished_at or now) - look.started_at)
