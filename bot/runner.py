"""The loop: claim what can be worked on, and see to it that it is. The only place where tasks change state.

Start-up, timer, webhook and the end of another task all end in the same ``step``: an event only wakes it, and a sweep
of the rows would have found the same. There is no separate recovery: what a dead process left is claimed like
anything else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from bot.github import GitHub
from bot.github_attachments import Attachments
from bot.logs import TASK
from bot.steps.drive import drive
from bot.steps.intervals import past
from bot.steps.queue import Positions
from bot.steps.reconcile import Missed
from bot.steps.sweep import sweep
from bot.steps.unanswered import Unanswered
from bot.steps.world import Clock, Rules, World
from bot.store import Store, Task
from bot.store.store import LEASE_SECONDS
from sandbox import Sandbox, spawn

_log = logging.getLogger(__name__)

# Seconds between two looks at the queue when nothing wakes the loop: how late a put-off task or another worker's
# news is seen. A look is three small queries.
LOOK_SECONDS = 2.0
# Seconds without a finished look after which the loop counts as stuck (the database hangs, most likely).
STUCK_SECONDS = 60.0
# Seconds between two beats. Three fit into a lease, so that two may fail.
BEAT_SECONDS = LEASE_SECONDS / 3
# Seconds between two sweeps for what belongs to nobody, and after one that failed or where something was left.
SWEEP_SECONDS = 600.0
SWEEP_SOON_SECONDS = 30.0
# Seconds between two looks for webhooks that never arrived; the first comes with the start.
RECONCILE_SECONDS = 900.0
# Seconds that a stop waits for steps to let go, and for tokens to be revoked. Both fit into the five of SIGTERM.
LET_GO_SECONDS = 1.5
LATER_SECONDS = 1.0


class Runner:
    """One worker. ``run`` until ``stop``; tests may call ``step`` by hand instead, and await ``idle``."""

    def __init__(
        self,
        store: Store,
        github: GitHub,
        sandbox: Sandbox,
        rules: Rules,
        clock: Clock,
        *,
        reconcile_seconds: float = RECONCILE_SECONDS,
        images: Attachments | None = None,
    ) -> None:
        self._woken = asyncio.Event()
        self.world = World(store, github, sandbox, rules, clock, later=self._later, wake=self.wake, images=images)
        self._working: dict[str, tuple[Task, asyncio.Task[None]]] = {}
        self._beside: dict[str, asyncio.Task[None]] = {}
        self._laters: set[asyncio.Task[None]] = set()
        self._positions = Positions(self.world)
        self._missed = Missed(self.world)
        self._unanswered = Unanswered(self.world)
        self._reconcile_seconds = reconcile_seconds
        self._reconciled_at = 0.0
        self._swept_at = 0.0
        self._tidy = True
        self._beat_at = 0.0
        self._stepped_at = 0.0
        self._stopping = False

    def wake(self) -> None:
        """Something may have changed. Cheap, may be called at any time and any number of times."""
        self._woken.set()

    def alive(self) -> bool:
        """Whether the loop has looked at the queue lately."""
        return not self._stopping and not past(self.world.clock.now(), self._stepped_at, STUCK_SECONDS)

    def began(self) -> bool:
        """Whether the loop has looked at the queue at all."""
        return self._stepped_at > 0

    async def run(self) -> None:
        """Step until stopped. An error of one step is logged, and the next step comes all the same."""
        while not self._stopping:
            self._woken.clear()
            try:
                await self.step()
            except Exception:
                _log.exception("the loop stumbled and goes on")
            await _first_of(self._woken, LOOK_SECONDS)

    async def step(self) -> None:
        """One look at everything: beat, claim, positions, sweep, missed webhooks. Returns when that has begun, not
        when it is done."""
        if self._stopping:
            return
        now = self.world.clock.now()
        if past(now, self._beat_at, BEAT_SECONDS):
            self._beat_at = now
            self._alone("beat", self._beat)
        rules = self.world.rules
        for task in await self.world.store.claim(rules.worker, rules.caps, frozenset(self._working)):
            self._work(task)
        self._stepped_at = now
        self._alone("positions", self._positions.show)
        soon = self.world.untidy or not self._tidy
        if past(now, self._swept_at, SWEEP_SOON_SECONDS if soon else SWEEP_SECONDS):
            self._swept_at = now
            self._alone("sweep", self._sweep)
        if past(now, self._reconciled_at, self._reconcile_seconds):
            self._reconciled_at = now
            self._alone("reconcile", self._missed.look)
            self._alone("unanswered", self._unanswered.look)

    async def idle(self) -> None:
        """Until nothing of what was begun is under way any more. For tests that step by hand."""
        while pending := [job for _, job in self._working.values()] + [*self._beside.values(), *self._laters]:
            await asyncio.wait(pending)

    async def stop(self) -> None:
        """Claim nothing more, let go of every task as it is; sandboxes run on. Within three seconds."""
        self._stopping = True
        self.wake()
        jobs = [job for _, job in self._working.values()] + list(self._beside.values())
        held = [task for task, _ in self._working.values()]
        await _cancel(jobs, LET_GO_SECONDS)
        release = spawn(self._release(held), name="release")
        await _cancel_after([release, *self._laters], LATER_SECONDS)

    def _work(self, task: Task) -> None:
        job = spawn(self._drive(task), name=f"task-{task.task_id}")
        self._working[task.task_id] = (task, job)

    async def _drive(self, task: Task) -> None:
        TASK.set(task.task_id)  # this coroutine is an asyncio task of its own: it ends with it
        try:
            await drive(self.world, task)
        finally:
            del self._working[task.task_id]
            self.world.cancelled.discard(task.task_id)
            self.wake()

    async def _beat(self) -> None:
        """Keep the leases of what is really worked on; stop working on what is no longer ours."""
        snapshot = {task_id: task.fence for task_id, (task, _) in self._working.items()}
        kept = await self.world.store.beat(self.world.rules.worker, snapshot)
        self.world.cancelled.update(task_id for task_id, cancel in kept.items() if cancel)
        for task_id in snapshot.keys() - kept.keys():
            # Done or claimed anew since the snapshot is not lost: compare the fence, not the name.
            found = self._working.get(task_id)
            if found is not None and found[0].fence == snapshot[task_id] and await self._is_lost(found[0]):
                _log.warning("task %s: another worker has it now; letting go", task_id)
                found[1].cancel()

    async def _is_lost(self, task: Task) -> bool:
        row = await self.world.store.task(task.task_id)
        return row is not None and row.fence != task.fence

    async def _sweep(self) -> None:
        self._tidy = await sweep(self.world)

    async def _release(self, held: list[Task]) -> None:
        for task in held:
            await self.world.store.release(task)

    def _alone(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run beside the loop, once at a time: a slow GitHub or engine must not hold up claims and beats."""
        if name in self._beside:
            return
        job = self._beside[name] = spawn(work(), name=name)
        job.add_done_callback(lambda _: self._beside.pop(name))

    def _later(self, work: Coroutine[Any, Any, None], name: str) -> None:
        job = spawn(work, name=name)
        self._laters.add(job)
        job.add_done_callback(self._laters.discard)

    @property
    def working(self) -> Mapping[str, tuple[Task, asyncio.Task[None]]]:
        """What is worked on now, by task id."""
        return self._working


async def _first_of(event: asyncio.Event, seconds: float) -> None:
    """Until the event or the time. Not `asyncio.wait_for`: before Python 3.12 it can swallow a cancellation."""
    waiting = spawn(event.wait(), name="wait")
    try:
        await asyncio.wait([waiting], timeout=seconds)
    finally:
        waiting.cancel()


async def _cancel(jobs: list[asyncio.Task[None]], seconds: float) -> None:
    for job in jobs:
        job.cancel()
    if jobs:
        await asyncio.wait(jobs, timeout=seconds)


async def _cancel_after(jobs: list[asyncio.Task[None]], seconds: float) -> None:
    if jobs:
        await asyncio.wait(jobs, timeout=seconds)
    await _cancel([job for job in jobs if not job.done()], 0.1)
