"""The present task of a sandbox: made ready, started, looked at, collected. Callers take turns (``service``).

Nothing that matters is in memory: what is on disk and on the engine says where a task is, and every step goes on from
there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from sandbox import Busy, NotThere, PrepareFailed, Unreachable
from sandbox import prepare as preparing
from sandbox.clear import clear, clear_task, traces
from sandbox.collect import collect, gone
from sandbox.context import Context, boot_id
from sandbox.engine import Gone, Look
from sandbox.job import Job, Outcome, Phase, Reason, Secrets, State, Status
from sandbox.state import Killed, Ready, SandboxState, Started, TaskState
from sandbox.task import task_of
from sandbox.turns import Turns
from sandbox.verdict import Kill
from sandbox.watch import Watch
from sandbox.workspace import attached

T = TypeVar("T")

POLL_SECONDS = 2.0  # between two looks at a running agent; its end is usually heard of at once
# Supervisor, bot and API look at the same agent: one look serves all who ask within this time.
FRESH_SECONDS = 1.5
NO_WORKSPACE = "There is no repository in this sandbox yet: fetch one first."
BUSY = "A task runs in this sandbox."

_log = logging.getLogger(__name__)


class Life:
    """Every method is safe to repeat, after a restart too. Where it says so, one caller for a name at a time."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._watch = Watch(context)
        self._looking = Turns()
        self._seen: dict[str, tuple[float, float, Status]] = {}
        """By name: when the agent that was looked at began, when that was, and what was seen."""

    async def prepare(self, job: Job, secrets: Secrets) -> None:
        """See ``Sandbox.prepare``. One caller at a time."""
        if job.source is None:
            await self._prepare_next(job)
        elif not await self._is_ready(job.name):
            await self._prepare_first(job, secrets)

    async def _prepare_first(self, job: Job, secrets: Secrets) -> None:
        context, state = self._context, self._context.state(job.name)
        if await traces(context, job.name):
            await clear(context, job.name)
        try:
            task = await self._disk(lambda: state.new_task(job))
            workspace = await preparing.whole(context, job, secrets)
            await self._disk(lambda: state.set_workspace(workspace))
            await self._disk(lambda: task.set_ready(Ready(boot=workspace.boot)))
        except Exception as error:
            await self._tidy(job.name, clear(context, job.name), error)
            raise

    async def _prepare_next(self, job: Job) -> None:
        """The next task in a workspace that is there; after a failure that is as it was."""
        state = self._context.state(job.name)
        if await self.busy(job.name):
            if await self._disk(state.task().job) != job:
                raise Busy(BUSY)
            if await self._is_ready(job.name):
                return
        else:
            await self.record(job, driven=False)
        try:
            await self.make_ready(job)
        except Exception as error:
            await self._tidy(job.name, clear_task(self._context, job.name), error)
            await self._disk(state.drop_task)
            raise

    async def record(self, job: Job, *, driven: bool) -> None:
        """The next task exists from now on. One caller at a time; raises ``Busy``, ``NotThere``, ``PrepareFailed``."""
        state = self._context.state(job.name)
        if await self.busy(job.name):
            raise Busy(BUSY)
        if await self._disk(state.workspace) is None:
            raise NotThere(NO_WORKSPACE)
        task_of(self._context, job)  # what is not offered is refused before anything is written
        try:
            await self._disk(lambda: state.new_task(job, driven=driven))
        except FileExistsError as error:
            raise Busy(BUSY) from error

    async def make_ready(self, job: Job) -> None:
        """Everything for the agent of the present task, anew. One caller at a time; raises ``PrepareFailed``."""
        context, task = self._context, self._context.state(job.name).task()
        await clear_task(context, job.name)
        with preparing.told():
            await attached(context, job.name)
        await preparing.task(context, job)
        await self._disk(lambda: task.set_ready(Ready(boot=boot_id())))

    async def give_up(self, name: str, error: PrepareFailed) -> None:
        """The present task could not be made ready: that is its outcome. One caller at a time."""
        task = self._context.state(name).task()
        outcome = Outcome(state=State.FAILED, reason=error.reason, error=str(error))
        await self._disk(lambda: task.set_outcome(outcome))
        _log.info("%s: could not be prepared (%s): %s", name, error.reason, error)

    async def busy(self, name: str) -> bool:
        """Whether the present task has no outcome yet."""
        return await self._disk(lambda: _busy(self._context.state(name)))

    async def _is_ready(self, name: str) -> bool:
        """Prepared or further, and still there. After another boot, one that has not been started is not."""
        task = self._context.state(name).task()
        if await self._disk(task.ended) or await self._disk(task.started) is not None:
            return True
        ready = await self._disk(task.ready)
        return ready is not None and ready.boot == boot_id() and await self._agent(name) is not None

    async def _tidy(self, name: str, work: object, error: Exception) -> None:
        """Remove what a failed preparation has made."""
        if isinstance(error, PrepareFailed):
            _log.info("%s: could not be prepared (%s): %s", name, error.reason, error)
        try:
            await work  # type: ignore[misc]
        except (Unreachable, OSError) as left:
            _log.warning("%s: not everything could be removed, the next prepare or remove will: %s", name, left)

    async def start(self, name: str) -> None:
        """See ``Sandbox.start``. One caller at a time."""
        context = self._context
        task = context.state(name).task()
        look = await self._agent(name)
        if look is None or look.started or await self._disk(task.killed) is not None:
            return
        if await self._disk(task.ready) is None:
            raise PrepareFailed(Reason.LOST, "The sandbox has not been prepared.")
        egress = await context.engine.look(context.names(name).of("egress"))
        if egress is None or not egress.running:  # as after a boot: never an agent without its way out in place
            await self._intend(name, Kill.EGRESS_LOST)
            return
        started = Started(at=context.clock())
        await self._disk(lambda: task.set_started(started))
        try:
            await context.engine.start(context.names(name).of("agent"))
        except Gone:
            _log.warning("%s: the agent's container went away before its start", name)

    async def status(self, name: str) -> Status:
        """See ``Sandbox.status``."""
        state = self._context.state(name)
        task = state.task()
        job = await self._disk(task.job)
        if job is None:
            return Status(phase=await self._without_task(name))
        if await self._disk(task.ended) or await self._disk(task.killed) is not None:
            return await self._ended(name, task)
        if not await self._disk(lambda: _has_agent(task)):
            return Status(phase=Phase.PREPARING)
        look = await self._agent(name)
        if look is not None and look.running and look.started_at is not None:
            return await self._running(name, job, look.started_at)
        if look is not None and look.started:
            return Status(phase=Phase.EXITED, elapsed_seconds=_elapsed(look, self._context.clock()))
        if await self._disk(task.started) is not None and look is None:
            return Status(phase=Phase.EXITED)  # gone: `outcome` says lost
        return Status(phase=Phase.PREPARING if look is None else Phase.READY)

    async def _without_task(self, name: str) -> Phase:
        """A workspace, filled or being filled, is no task."""
        state = self._context.state(name)
        if await self._disk(lambda: state.workspace() or state.filling() or state.snapshot()) is not None:
            return Phase.ABSENT
        return Phase.PREPARING if await traces(self._context, name) else Phase.ABSENT

    async def _running(self, name: str, job: Job, started_at: float) -> Status:
        async with self._looking.of(name):  # two looks at once would read one stream in turns
            now = asyncio.get_running_loop().time()
            of, at, status = self._seen.get(name, (0.0, now, None))
            if status is None or of != started_at or now - at >= FRESH_SECONDS:
                status = await self._look(name, job, started_at)
                self._seen[name] = (started_at, now, status)
            return status

    async def _look(self, name: str, job: Job, started_at: float) -> Status:
        agent = self._context.agents[job.agent]
        seen = await self._watch.look(name, agent, job.limits.wall_seconds, started_at)
        status = Status(
            phase=Phase.RUNNING,
            elapsed_seconds=max(0.0, self._context.clock() - started_at),
            progress=seen.progress,
            metered=seen.metered,
            model_requests=seen.model_requests,
        )
        if seen.due is None:
            return status
        look = await self._agent(name)
        if look is not None and look.running and look.started_at == started_at:  # it may have ended while we looked
            await self.kill(name, seen.due, seen.words)
        return status.model_copy(update={"phase": Phase.EXITED})

    async def _ended(self, name: str, task: TaskState) -> Status:
        """A kill is recorded or an outcome stored: whatever still runs is (again) killed, unless it is the next task's,
        which may have begun while this one was looked at."""
        look = await self._agent(name)
        if look is None or not await self._disk(lambda: self._is_present(name, task) and _has_agent(task)):
            return Status(phase=Phase.EXITED)
        if look.running:
            await self._context.engine.kill(self._context.names(name).of("agent"))
            look = await self._agent(name)
        return Status(phase=Phase.EXITED, elapsed_seconds=_elapsed(look, self._context.clock()))

    async def wait(self, name: str, seconds: float) -> Status:
        """See ``Sandbox.wait``."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while True:
            status = await self.status(name)
            left = until - clock()
            if status.phase in {Phase.EXITED, Phase.ABSENT} or left <= 0:
                return status
            step = min(left, POLL_SECONDS)
            if status.phase is Phase.RUNNING:
                await self._context.engine.ended(self._context.names(name).of("agent"), step)
            else:
                await asyncio.sleep(step)

    async def outcome(self, name: str) -> Outcome:
        """See ``Sandbox.outcome``. One caller at a time."""
        task = self._context.state(name).task()
        if (stored := await self._disk(task.outcome)) is not None:
            return stored
        job = await self._disk(task.job)
        if job is None:
            return gone()
        if not await self._disk(lambda: _has_agent(task)):
            await clear_task(self._context, name)  # or an earlier task's words and end would be told as this one's
        look = await self._stopped(name)
        outcome = await collect(self._context, job, look, await self._disk(task.killed))
        await self._disk(lambda: task.set_outcome(outcome))
        self.forget(name)
        return outcome

    def forget(self, name: str) -> None:
        """What is kept in memory of a task that has ended."""
        self._watch.forget(name)
        self._seen.pop(name, None)

    async def _stopped(self, name: str) -> Look | None:
        """The agent's last state. One that still runs, or could still be started, is cancelled."""
        look = await self._agent(name)
        if look is not None and (look.running or not look.started):
            await self.kill(name, Kill.CANCELLED)
            look = await self._agent(name)
        return look

    async def kill(self, name: str, reason: Kill, words: str = "") -> None:
        """The intent first, on disk; then the deed; then see that it is done."""
        await self._intend(name, reason, words)
        self._seen.pop(name, None)
        await self._context.engine.kill(self._context.names(name).of("agent"))

    async def _intend(self, name: str, reason: Kill, words: str = "") -> None:
        task = self._context.state(name).task()
        killed = Killed(reason=reason, at=self._context.clock(), words=words)
        held = await self._disk(lambda: task.set_killed(killed))
        _log.info("%s: ended (%s)", name, held.reason)

    def _is_present(self, name: str, task: TaskState) -> bool:
        return self._context.state(name).task().name == task.name

    async def _agent(self, name: str) -> Look | None:
        return await self._context.engine.look(self._context.names(name).of("agent"))

    async def _disk(self, work: Callable[[], T]) -> T:
        return await self._context.disk.run(work)


def _busy(state: SandboxState) -> bool:
    task = state.task()
    return task.job() is not None and not task.ended()


def _has_agent(task: TaskState) -> bool:
    """Whether the agent's container, whose name all tasks of a sandbox share, is this task's. Before a task is ready,
    what is there may be left of the one before it."""
    return task.ready() is not None or task.started() is not None


def _elapsed(look: Look | None, now: float) -> float:
    """Seconds from the agent's start to its end, or to now while it runs."""
    if look is None or look.started_at is None:
        return 0.0
    return max(0.0, (look.finished_at or now) - look.started_at)
