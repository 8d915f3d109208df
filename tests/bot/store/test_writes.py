"""What the holder of a task writes, and what is refused to everybody else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from bot.store import Caps, LeaseLost, Store, Task
from bot.store.store import LEASE_SECONDS
from bot.tasks import TaskState
from bot.work import Work
from sandbox import Changes, Outcome, Reason, State
from tests.bot.clock import Clock
from tests.bot.requests import a_request

CAPS = Caps(running=9, per_repository=9)
OUTCOME = Outcome(state=State.SUCCEEDED, reason=Reason.OK, changes=Changes(base_commit="a" * 40, patch=b"diff\0\xff"))


async def started(store: Store, worker: str = "w") -> Task:
    await store.add(a_request())
    (task,) = await store.claim(worker, CAPS)
    return await store.admit(task, CAPS)


async def test_one_life_from_start_to_done(store: Store) -> None:
    task = await started(store)
    task = await store.set_status_comment(task, 11)
    task = await store.set_handle(task, "t-1")
    assert await store.handles() == {"t-1"}
    task = await store.move(task, TaskState.RUNNING)
    task = await store.set_outcome(task, OUTCOME, "changed")
    assert (task.state, task.ending) == ("publishing", "changed")
    task = await store.set_result_comment(task, 11)
    task = await store.finish(task, "changed")

    assert await store.task(task.task_id) == task
    assert (task.state, task.worker, task.status_comment_id) == ("done", None, 11)
    assert await store.outcome(task.task_id) == OUTCOME
    assert await store.patch(task.task_id) == b"diff\0\xff"
    assert await store.handles() == frozenset()
    assert await store.claim("w", CAPS) == []


Write = Callable[[Store, Task], Awaitable[object]]
WRITES: dict[str, Write] = {
    "admit": lambda store, task: store.admit(task, CAPS),
    "move": lambda store, task: store.move(task, TaskState.PUBLISHING),
    "set_handle": lambda store, task: store.set_handle(task, "t-1"),
    "set_work": lambda store, task: store.set_work(task, Work(branch="b")),
    "set_status_comment": lambda store, task: store.set_status_comment(task, 1),
    "set_result_comment": lambda store, task: store.set_result_comment(task, 1),
    "set_position": lambda store, task: store.set_position(task, 1),
    "set_outcome": lambda store, task: store.set_outcome(task, OUTCOME, "changed"),
    "finish": lambda store, task: store.finish(task, "changed"),
}


@pytest.mark.parametrize("name", WRITES)
async def test_zombie_that_thaws_after_its_lease_writes_nothing(store: Store, clock: Clock, name: str) -> None:
    zombie = await started(store)
    clock.time += LEASE_SECONDS
    await store.claim("v", CAPS)
    before = await store.tasks()

    with pytest.raises(LeaseLost):
        await WRITES[name](store, zombie)

    assert await store.tasks() == before
    assert await store.outcome(zombie.task_id) is None


async def test_zombie_neither_releases_nor_keeps_up_what_another_holds(store: Store, clock: Clock) -> None:
    zombie = await started(store)
    clock.time += LEASE_SECONDS
    (task,) = await store.claim("w", CAPS)  # the same name: a restarted process
    await store.release(zombie)
    assert await store.beat("w", {zombie.task_id: zombie.fence}) == {}
    assert await store.task(task.task_id) == task


async def test_same_name_twice_is_told_apart_by_the_fence(store: Store, clock: Clock) -> None:
    old = await started(store)
    clock.time += LEASE_SECONDS
    (new,) = await store.claim("w", CAPS)
    with pytest.raises(LeaseLost):
        await store.set_status_comment(old, 1)
    await store.set_status_comment(new, 2)


async def test_state_goes_no_way_that_is_not_legal(store: Store) -> None:
    task = await started(store)
    with pytest.raises(ValueError, match="may not go from queued to running"):
        await store.move(task, TaskState.RUNNING)


async def test_beat_says_that_a_cancel_is_wanted_and_extends(store: Store, clock: Clock) -> None:
    task = await started(store)
    clock.time += LEASE_SECONDS - 1
    assert await store.request_cancel(task.task_id)
    assert await store.beat("w", {task.task_id: task.fence, "unknown": 1}) == {task.task_id: True}
    clock.time += LEASE_SECONDS - 1
    assert await store.claim("v", CAPS) == []


async def test_lease_of_a_task_that_nobody_works_on_is_not_kept_up(store: Store, clock: Clock) -> None:
    task = await started(store)
    clock.time += LEASE_SECONDS
    assert await store.beat("w", {}) == {}
    assert [t.task_id for t in await store.claim("w", CAPS)] == [task.task_id]


async def test_done_task_cannot_be_cancelled(store: Store) -> None:
    task = await started(store)
    await store.finish(task, "changed")
    assert not await store.request_cancel(task.task_id)
    assert not await store.request_cancel("no\0such")


async def test_outcome_of_a_lost_lease_leaves_no_half(store: Store) -> None:
    task = await started(store)
    stored = await store.set_outcome(task, OUTCOME, "changed")
    with pytest.raises(LeaseLost):  # the row has moved on
        await store.set_outcome(task, OUTCOME.model_copy(update={"reply": "other"}), "failed")
    outcome = await store.outcome(stored.task_id)
    assert outcome is not None
    assert outcome.reply == ""
