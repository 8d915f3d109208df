"""The life of sandboxes over an engine: the in-process implementation of ``sandbox.Workspaces``.

Nothing that matters is in memory: a new service finds every sandbox again from the engine's labels and its own state
files, and goes on from what they say. What was begun or started is seen to its end by the service itself
(``supervise``), whoever asks or not.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from sandbox import Busy, PrepareFailed, Unreachable, workspaces
from sandbox.agents import AGENTS, Agent
from sandbox.clear import STORE_ROLE, clear, clear_task, everyone, traces, uninstall
from sandbox.context import Context, boot_id
from sandbox.engines.docker import CALL_SECONDS
from sandbox.job import (
    Changes,
    Fetched,
    Handle,
    Job,
    Limits,
    Outcome,
    Phase,
    Reason,
    Secrets,
    Snapshot,
    Source,
    Status,
)
from sandbox.life import BUSY, Life
from sandbox.opening import open_context
from sandbox.retention import expire, sweep
from sandbox.settings import Settings
from sandbox.state import SandboxState, Used
from sandbox.supervise import Facts, Supervisor
from sandbox.turns import Turns
from sandbox.verdict import Kill

T = TypeVar("T")

EVENT_SECONDS = 1.0  # between two looks for those who follow a task
FILLING = "A repository is being fetched into this sandbox."

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
    """See ``sandbox.Sandbox`` and ``sandbox.Workspaces`` for the contract of every method. Made in a running loop."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._life = Life(context)
        # Callers for one sandbox are asked to come one at a time. Two that do not would remove each other's half-made
        # things, or read one work tree twice: they wait here. Looking and cancelling never wait.
        self._turns = Turns()
        self._filling: set[str] = set()
        self._tidying: dict[str, asyncio.Task[None]] = {}
        self._supervisor = Supervisor(_Steps(self), context.settings.state_dir)
        self._supervisor.open()

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        if job.source is None:
            self._not_filling(job.name)
        async with self._turns.of(job.name):
            await self._life.prepare(job, secrets)
        return Handle(name=job.name)

    async def start(self, handle: Handle) -> None:
        async with self._turns.of(handle.name):
            await self._life.start(handle.name)
        self._supervisor.take(handle.name)

    async def status(self, handle: Handle) -> Status:
        return await self._life.status(handle.name)

    async def wait(self, handle: Handle, seconds: float) -> Status:
        return await self._life.wait(handle.name, seconds)

    async def outcome(self, handle: Handle) -> Outcome:
        async with self._turns.of(handle.name):
            return await self._outcome(handle.name)

    async def ended(self, handle: Handle) -> Outcome | None:
        async with self._turns.of(handle.name):
            if (await self._life.status(handle.name)).phase is not Phase.EXITED:
                return None
            return await self._outcome(handle.name)

    async def _outcome(self, name: str) -> Outcome:
        stored = await self._disk(self._context.state(name).task().ended)
        outcome = await self._life.outcome(name)
        if not stored and await self._disk(self._context.state(name).task().ended):
            self._tidy_later(name)
        return outcome

    async def cancel(self, handle: Handle, reason: Reason) -> None:
        await self._life.kill(handle.name, Kill(reason.value))

    async def remove(self, handle: Handle) -> None:
        if (tidying := self._tidying.pop(handle.name, None)) is not None:
            tidying.cancel()  # this removes all of it
        async with self._turns.of(handle.name):
            self._life.forget(handle.name)
            await clear(self._context, handle.name)

    async def handles(self) -> tuple[Handle, ...]:
        return tuple(Handle(name=name) for name in sorted(await everyone(self._context)))

    async def fetch(self, handle: Handle, source: Source, secrets: Secrets, limits: Limits) -> Fetched:
        name = handle.name
        with self._fills(name):
            await self._free(name)
            async with self._turns.of(name):
                await self._free(name)
                fetched = await workspaces.fetch(self._context, name, source, secrets, limits)
                await self._used(name)
        return fetched

    async def begin(self, job: Job) -> None:
        if job.source is not None:
            raise ValueError("a task that is begun works on what is there: its source is None")
        self._not_filling(job.name)
        await self._free(job.name)
        async with self._turns.of(job.name):
            await self._life.record(job, driven=True)
            await self._used(job.name)
        self._supervisor.take(job.name)

    async def diff(self, handle: Handle) -> Changes:
        self._not_filling(handle.name)
        async with self._turns.of(handle.name):
            await self._free(handle.name)
            return await workspaces.diff(self._context, handle.name)

    async def snapshot(self, handle: Handle) -> Snapshot:
        self._not_filling(handle.name)
        async with self._turns.of(handle.name):
            await self._free(handle.name)
            saved = await workspaces.snapshot(self._context, handle.name)
            await self._used(handle.name)
            return saved

    async def copy(self, handle: Handle, origin: Handle) -> None:
        if handle == origin:
            raise Busy("A sandbox cannot be copied onto itself.")
        first, second = sorted((handle.name, origin.name))  # one order for all: no two wait for each other
        with self._fills(handle.name):
            async with self._turns.of(first), self._turns.of(second):
                await workspaces.copy(self._context, handle.name, origin.name)
                await self._used(handle.name)

    async def events(self, handle: Handle) -> AsyncIterator[Status]:
        """See ``Workspaces.events``. ``elapsed_seconds`` alone is no change."""
        told: Status | None = None
        status = await self.status(handle)
        while True:
            if told is None or status != told.model_copy(update={"elapsed_seconds": status.elapsed_seconds}):
                yield status
                told = status
            if status.phase in {Phase.EXITED, Phase.ABSENT}:
                return
            status = await self.wait(handle, EVENT_SECONDS)

    async def uninstall(self) -> None:
        """Remove what belongs to the instance itself; no sandbox of it may be left. For tests and `gofer demo`."""
        await uninstall(self._context)

    async def close(self) -> None:
        await self._supervisor.close()
        await self._context.close()

    @contextmanager
    def _fills(self, name: str) -> Iterator[None]:
        """The workspace is being filled; nobody else may want it meanwhile, and who does is told at once."""
        self._not_filling(name)
        self._filling.add(name)
        try:
            yield
        finally:
            self._filling.discard(name)

    def _not_filling(self, name: str) -> None:
        if name in self._filling:
            raise Busy(FILLING)

    async def _free(self, name: str) -> None:
        if await self._life.busy(name):
            raise Busy(BUSY)

    async def _used(self, name: str) -> None:
        state, used = self._context.state(name), Used(at=self._context.clock())
        await self._disk(lambda: state.set_used(used))

    def _tidy_later(self, name: str) -> None:
        """Beside the caller: the egress holds the model's key, and nobody needs any container now."""
        task = self._context.tidy_later(self._tidy_if_possible(name), name=f"tidy {name}")
        self._tidying[name] = task
        task.add_done_callback(lambda done: self._tidied(name, done))

    def _tidied(self, name: str, task: asyncio.Task[None]) -> None:
        if self._tidying.get(name) is task:
            del self._tidying[name]

    async def _tidy_if_possible(self, name: str) -> None:
        try:
            await self.tidy(name)
        except (Unreachable, OSError) as error:
            _log.warning("%s: what its task has left will be removed later: %s", name, error)
            self._supervisor.take(name)

    async def tidy(self, name: str) -> None:
        """Nothing is left of a task that has ended but its files."""
        async with self._turns.of(name):
            task = self._context.state(name).task()
            if await self._disk(task.ended):
                await clear_task(self._context, name)
                await self._used(name)

    async def _disk(self, work: Callable[[], T]) -> T:
        return await self._context.disk.run(work)


class _Steps:
    """``supervise.Steps`` over a service: each step takes its turn and looks anew in it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._context = service._context
        self._life = service._life

    async def facts(self, name: str) -> Facts:
        return await self._context.disk.run(lambda: facts_of(self._context.state(name)))

    async def ready(self, name: str) -> None:
        async with self._service._turns.of(name):
            task = self._context.state(name).task()
            job = await self._context.disk.run(task.job)
            if job is None or not await self._life.busy(name):
                return
            try:
                await self._life.make_ready(job)
            except PrepareFailed as error:
                await self._life.give_up(name, error)

    async def go(self, name: str) -> None:
        async with self._service._turns.of(name):
            await self._life.start(name)

    async def watch(self, name: str, seconds: float) -> Phase:
        return (await self._life.wait(name, seconds)).phase

    async def collect(self, name: str) -> None:
        async with self._service._turns.of(name):
            await self._life.outcome(name)

    async def tidy(self, name: str) -> None:
        await self._service.tidy(name)

    def claim(self, name: str) -> int | None:
        return self._context.state(name).task().claim()

    async def unfinished(self) -> tuple[str, ...]:
        """Whose task has no outcome, and of whose ended task a container is left."""
        found = await self._context.engine.find(self._context.settings.instance)
        left = {item.sandbox for item in found.containers if item.role != STORE_ROLE}
        facts = await self._context.disk.run(self._all_facts)
        return tuple(name for name, seen in facts.items() if seen.there and (not seen.ended or name in left))

    def _all_facts(self) -> dict[str, Facts]:
        states = self._context.states
        return {name: facts_of(states.of(name)) for name in states.names()}

    async def sweep(self) -> None:
        await sweep(self._context, self._expire)
        await self._context.kept.tidy(self._context)

    async def _expire(self, name: str) -> None:
        if name in self._service._filling:
            return
        async with self._service._turns.of(name):
            if await traces(self._context, name):
                await expire(self._context, name, lambda name: clear(self._context, name))


def facts_of(state: SandboxState) -> Facts:
    """What the files say of the present task."""
    task = state.task()
    ready = task.ready()
    return Facts(
        there=task.job() is not None,
        task=task.name,
        driven=task.driven(),
        ready=ready is not None and bool(ready.boot) and ready.boot == boot_id(),
        started=task.started() is not None,
        killed=task.killed() is not None,
        ended=task.ended(),
    )
