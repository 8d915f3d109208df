"""Chaos: several workers that die, freeze and thaw at random, over one database. No task is lost or run twice at once.

Time is a number, and chance a seed, so that a failure can be repeated.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from bot.store import Caps, LeaseLost, Store, Task
from bot.store.store import LEASE_SECONDS
from bot.tasks import TaskState
from sandbox import Outcome, Reason, State
from tests.bot.clock import Clock
from tests.bot.requests import a_request

CAPS = Caps(running=4, per_repository=2)
TASKS = 25
# Steps of the world until every task must be done; 25 tasks of five steps each, most of which are disturbed.
STEPS = 4_000
OUTCOME = Outcome(state=State.FAILED, reason=Reason.EXIT)


@dataclass
class Worker:
    """A server: what it believes it holds. Frozen ones come back believing the same."""

    name: str
    held: dict[str, Task] = field(default_factory=dict)
    frozen: bool = False
    generation: int = 0


@dataclass
class World:
    store: Store
    clock: Clock
    chance: random.Random
    workers: list[Worker]
    endings: dict[str, int] = field(default_factory=dict)

    async def step(self) -> None:
        worker = self.chance.choice(self.workers)
        self.clock.time += self.chance.random() * LEASE_SECONDS / 10
        match self.chance.random():
            case x if x < 0.03:  # killed: a new process of the name knows nothing
                worker.held, worker.frozen = {}, False
            case x if x < 0.06:
                worker.frozen = not worker.frozen
            case _ if worker.frozen:
                pass
            case x if x < 0.3:
                for task in await self.store.claim(worker.name, CAPS, frozenset(worker.held)):
                    worker.held[task.task_id] = task
            case x if x < 0.5:
                fences = {task.task_id: task.fence for task in worker.held.values()}
                kept = await self.store.beat(worker.name, fences)
                worker.held = {name: task for name, task in worker.held.items() if name in kept}
            case _ if worker.held:
                await self.work(worker, self.chance.choice(sorted(worker.held)))

    async def work(self, worker: Worker, task_id: str) -> None:
        """One step of one task. Whoever has lost it finds out here at the latest."""
        task = worker.held.pop(task_id)
        try:
            after = await self.advance(task)
        except LeaseLost:
            return
        if after is not None:
            worker.held[task_id] = after

    async def advance(self, task: Task) -> Task | None:
        if task.state == TaskState.QUEUED and task.admitted_at is None:
            task = await self.store.admit(task, CAPS)
            if task.started_at is None:
                await self.store.release(task)
                return None
            return task
        if task.state == TaskState.QUEUED:
            return await self.store.set_handle(task, f"t-{task.task_id}")
        if task.state == TaskState.PREPARING:
            return await self.store.move(task, TaskState.RUNNING)
        if task.state == TaskState.RUNNING:
            if self.chance.random() < 0.2:
                await self.store.release(task, after=5, put_off=True)
                return None
            return await self.store.set_outcome(task, OUTCOME, "failed")
        await self.store.finish(task, "failed")
        self.endings[task.task_id] = self.endings.get(task.task_id, 0) + 1
        return None

    async def check(self) -> None:
        """No place too many, no thread twice, and every unfinished task has one holder at most who can write."""
        rows = {task.task_id: task for task in await self.store.tasks()}
        places = [t for t in rows.values() if t.started_at and t.state in {"queued", "preparing", "running"}]
        assert len(places) <= CAPS.running
        for repository in {t.request.repository.id for t in places}:
            assert sum(t.request.repository.id == repository for t in places) <= CAPS.per_repository
        open_threads = [
            (t.request.repository.id, t.request.thread)
            for t in rows.values()
            if t.started_at and t.state != TaskState.DONE
        ]
        assert len(open_threads) == len(set(open_threads))
        for task in rows.values():
            holders = [
                worker.name
                for worker in self.workers
                if (held := worker.held.get(task.task_id)) and held.fence == task.fence
            ]
            assert len(holders) <= 1, f"{task.task_id} is held by {holders}"


@pytest.mark.parametrize("seed", range(4))
async def test_v05_no_task_is_lost_or_run_twice_at_once_while_workers_die_freeze_and_thaw(
    store: Store, clock: Clock, seed: int
) -> None:
    chance = random.Random(seed)
    world = World(store, clock, chance, [Worker(f"w{n}") for n in range(3)])
    for _ in range(TASKS):
        await store.add(a_request(repository=chance.randint(1, 4), thread=chance.randint(1, 3)))

    for number in range(STEPS):
        await world.step()
        if number % 10 == 0:
            await world.check()
        if len(world.endings) == TASKS:
            break

    assert set(world.endings.values()) == {1}
    assert len(world.endings) == TASKS
    assert all(task.state == TaskState.DONE for task in await store.tasks())
