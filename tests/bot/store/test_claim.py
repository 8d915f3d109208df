"""Claims: order, places, leases, take-over."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import select, update

from bot.store import Caps, LeaseLost, Store, Task
from bot.store.schema import tasks
from bot.store.store import LEASE_SECONDS
from bot.tasks import TaskState, Verb
from tests.bot.clock import Clock
from tests.bot.requests import a_request

NONE = Caps(running=0, per_repository=0)
ROOMY = Caps(running=100, per_repository=100)


async def admitted(store: Store) -> list[Task]:
    """Let every new task in, without a place."""
    return [await let_in(store, task, NONE) for task in await store.claim("w", NONE)]


async def let_in(store: Store, task: Task, caps: Caps) -> Task:
    task = await store.admit(task, caps)
    if task.started_at is None:
        await store.release(task)
    return task


async def finish(store: Store, task: Task) -> None:
    await store.finish(task, "no_change")


def threads(tasks: list[Task]) -> list[int]:
    return [task.request.thread for task in tasks]


async def test_new_tasks_come_in_their_order_and_once(store: Store) -> None:
    for thread in (3, 1, 2):
        await store.add(a_request(thread=thread))

    assert threads(await store.claim("w", ROOMY)) == [3, 1, 2]
    assert await store.claim("w", ROOMY) == []
    assert await store.claim("v", ROOMY) == []


async def test_one_task_at_a_time_in_a_thread(store: Store) -> None:
    for thread in (1, 1, 2):
        await store.add(a_request(thread=thread))
    await admitted(store)

    first = await store.claim("w", ROOMY)
    assert threads(first) == [1, 2]
    assert await store.claim("w", ROOMY) == []
    await finish(store, first[0])
    (second,) = await store.claim("w", ROOMY)
    assert second.seq > first[0].seq


async def test_same_thread_number_in_another_repository_is_another_thread(store: Store) -> None:
    for repository in (1, 2):
        await store.add(a_request(repository=repository, thread=1))
    await admitted(store)
    assert len(await store.claim("w", ROOMY)) == 2


async def test_places_over_all_and_per_repository_are_kept(store: Store) -> None:
    for repository, thread in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)]:
        await store.add(a_request(repository=repository, thread=thread))
    await admitted(store)
    caps = Caps(running=3, per_repository=2)

    started = await store.claim("w", caps)
    assert [(t.request.repository.id, t.request.thread) for t in started] == [(1, 1), (1, 2), (2, 1)]
    await finish(store, started[2])
    assert [(t.request.repository.id, t.request.thread) for t in await store.claim("v", caps)] == [(2, 2)]


async def test_publishing_holds_the_thread_but_no_place(store: Store) -> None:
    for thread in (1, 1, 2):
        await store.add(a_request(thread=thread))
    await admitted(store)
    caps = Caps(running=1, per_repository=1)
    (task,) = await store.claim("w", caps)
    await store.move(task, TaskState.PUBLISHING)

    assert threads(await store.claim("w", caps)) == [2]


async def test_help_waits_for_nobody_and_nobody_for_help(store: Store) -> None:
    await store.add(a_request(thread=1))
    (running,) = await store.claim("w", ROOMY)
    assert (await store.admit(running, ROOMY)).started_at is not None
    await store.add(a_request(thread=1, verb=Verb.HELP))
    await store.add(a_request(thread=2, verb=Verb.HELP))
    await store.add(a_request(thread=2))
    helps = await store.claim("w", Caps(0, 0))
    assert threads(helps) == [1, 2, 2]
    assert (await store.admit(helps[2], ROOMY)).started_at is not None


async def test_admitted_task_gets_a_free_place_at_once(store: Store) -> None:
    await store.add(a_request(thread=1))
    await store.add(a_request(thread=1))
    first, second = await store.claim("w", ROOMY)
    # The older one of the thread has not been let in yet: it goes first all the same.
    assert (await store.admit(second, ROOMY)).started_at is None
    assert (await store.admit(first, ROOMY)).started_at is not None


async def test_admitted_task_without_a_free_place_waits(store: Store) -> None:
    caps = Caps(running=1, per_repository=1)
    for thread in (1, 2):
        await store.add(a_request(thread=thread))
    first, second = await store.claim("w", caps)
    assert (await store.admit(first, caps)).started_at is not None
    assert (await store.admit(second, caps)).started_at is None
    assert [task_id for task_id, _ in await store.queue()] == [second.task_id]


async def test_lease_that_ran_out_is_taken_over_with_a_higher_fence(store: Store, clock: Clock) -> None:
    await store.add(a_request())
    await admitted(store)
    (mine,) = await store.claim("w", ROOMY)
    clock.time += LEASE_SECONDS - 1
    assert await store.claim("v", ROOMY) == []
    clock.time += 1

    (theirs,) = await store.claim("v", ROOMY)

    assert (theirs.task_id, theirs.worker, theirs.fence) == (mine.task_id, "v", mine.fence + 1)
    assert theirs.attempts == mine.attempts + 1
    with pytest.raises(LeaseLost):
        await store.set_handle(mine, "t-x")
    await store.set_handle(theirs, "t-x")


async def test_released_task_is_no_failed_attempt_and_comes_back_when_its_time_has_come(
    store: Store, clock: Clock
) -> None:
    await store.add(a_request())
    await admitted(store)
    (task,) = await store.claim("w", ROOMY)
    await store.release(task, after=60, put_off=True)
    assert await store.claim("w", ROOMY) == []
    clock.time += 60

    (again,) = await store.claim("w", ROOMY)
    assert (again.attempts, again.retries) == (task.attempts, 1)


async def test_task_that_runs_here_is_not_taken_from_oneself_when_the_clock_jumps(store: Store, clock: Clock) -> None:
    await store.add(a_request())
    (task,) = await store.claim("w", ROOMY)
    clock.time += 10 * LEASE_SECONDS

    assert await store.claim("w", ROOMY, busy=frozenset({task.task_id})) == []
    assert await store.beat("w", {task.task_id: task.fence}) == {task.task_id: False}
    assert await store.claim("v", ROOMY) == []


async def test_queue_shows_who_waits_and_what_was_shown(store: Store) -> None:
    for thread in (1, 1, 1):
        await store.add(a_request(thread=thread))
    await admitted(store)
    (running,) = await store.claim("w", ROOMY)
    queue = await store.queue()
    assert [shown for _, shown in queue] == [None, None]
    assert running.task_id not in dict(queue)

    waiting = await store.claim_waiting("w", queue[0][0])
    assert waiting is not None
    assert await store.claim_waiting("v", queue[0][0]) is None
    await store.release(await store.set_position(waiting, 1))
    assert (await store.queue())[0] == (queue[0][0], 1)


async def test_two_workers_claiming_at_once_keep_the_places(url: str) -> None:
    stores = [await Store.open(url) for _ in range(3)]
    for thread in range(12):
        await stores[0].add(a_request(thread=thread))
    await admitted(stores[0])
    caps = Caps(running=5, per_repository=4)

    claimed = await asyncio.gather(*(store.claim(f"w{n}", caps) for n, store in enumerate(stores)))

    assert len([task for tasks in claimed for task in tasks]) == 4
    for store in stores:
        await store.close()


async def test_a_lease_from_before_the_clock_was_put_back_holds_no_task(store: Store, clock: Clock) -> None:
    await store.add(a_request())
    (task,) = await store.claim("w", ROOMY)
    await store.release(task, after=3600.0, put_off=True)
    assert await store.claim("w", ROOMY) == []
    clock.time -= 86_400
    (again,) = await store.claim("w", ROOMY)
    assert again.task_id == task.task_id


async def test_a_row_that_cannot_be_read_is_ended_and_holds_up_no_other(store: Store) -> None:
    await store.add(a_request(thread=1))
    await store.add(a_request(thread=2))
    bad, _ = await store.tasks()
    damage = update(tasks).where(tasks.c.task_id == bad.task_id)
    await store._run(lambda c, _: c.execute(damage.values(request='{"of": "another version"}')))

    assert threads(await store.claim("w", ROOMY)) == [2]
    ended = select(tasks.c.state, tasks.c.ending, tasks.c.worker).where(tasks.c.task_id == bad.task_id)
    assert tuple(await store._run(lambda c, _: c.execute(ended).one())) == ("done", "undeliverable", None)
    assert await store.claim("w", ROOMY) == []
