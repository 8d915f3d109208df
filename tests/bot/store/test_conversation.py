from __future__ import annotations

from typing import Any

from bot.store import Caps, Store, Task
from bot.tasks import TaskState, Verb
from bot.work import Pull, Work
from sandbox import Changes, Outcome, Reason, State
from tests.bot.clock import Clock
from tests.bot.requests import a_request

CAPS = Caps(running=9, per_repository=9)


async def ended(store: Store, patch: bytes | None, **more: Any) -> Task:
    """A task of the thread that has ended with this patch."""
    await store.add(a_request(**more))
    (task,) = await store.claim("w", CAPS)
    task = await store.set_handle(await store.admit(task, CAPS), "h")
    task = await store.move(task, TaskState.RUNNING)
    changes = Changes(base_commit="a" * 40, patch=patch)
    task = await store.set_outcome(
        task, Outcome(state=State.SUCCEEDED, reason=Reason.OK, changes=changes), "changed" if patch else "no_change"
    )
    return await store.finish(task, "changed" if patch else "no_change")


async def test_the_last_result_is_the_newest_with_a_patch(store: Store) -> None:
    assert await store.with_result(20, 7) is None
    first = await ended(store, b"one", repository=20, thread=7)
    second = await ended(store, b"two", repository=20, thread=7)
    third = await ended(store, b"", repository=20, thread=7)
    await ended(store, b"other", repository=20, thread=8)
    found = await store.with_result(20, 7)
    assert found is not None
    assert found.task_id == second.task_id
    assert [task.task_id for task in await store.of_thread(20, 7)] == [third.task_id, second.task_id, first.task_id]
    assert [task.task_id for task in await store.of_thread(20, 7, most=1)] == [third.task_id]


async def test_only_what_runs_an_agent_counts_as_asked(store: Store, clock: Clock) -> None:
    await ended(store, b"", repository=20, thread=7, sender=3)
    clock.time += 100
    await ended(store, b"", repository=30, thread=7, sender=3)
    await store.add(a_request(repository=20, thread=7, sender=3, verb=Verb.HELP))
    await store.add(a_request(repository=20, thread=7, sender=3))  # not admitted yet
    assert await store.asked_since(1000, sender_id=3) == [100, 0]
    assert await store.asked_since(50, sender_id=3) == [0]
    assert await store.asked_since(1000, repository_id=20) == [100]
    assert await store.asked_since(1000, sender_id=4) == []
    assert len(await store.asked_since(1000)) == 2


async def test_a_pull_request_of_ours_is_remembered_as_it_is_now(store: Store) -> None:
    pull = Pull(repository_id=20, number=9, thread=7, branch="agent/7-a", sha="a" * 40, task_id="t")
    assert await store.pull(20, 9) is None
    await store.save_pull(pull)
    await store.save_pull(pull)
    later = pull.model_copy(update={"sha": "b" * 40, "rounds": 1})
    await store.save_pull(later)
    assert await store.pull(20, 9) == await store.pull_of_thread(20, 7) == later
    await store.save_pull(pull.model_copy(update={"number": 12}))
    newest = await store.pull_of_thread(20, 7)
    assert newest is not None
    assert newest.number == 12
    assert await store.pull_of_thread(20, 8) is None


async def test_what_a_task_has_decided_is_there_after_a_restart(store: Store) -> None:
    await store.add(a_request())
    (task,) = await store.claim("w", CAPS)
    work = Work(prompt="do\0 it", left_out=("a comment",), threads=(1, 2), branch="agent/1-x", pull=4)
    task = await store.set_work(task, work)
    assert task.work == work.model_copy(update={"prompt": "do it"})
    assert await store.task(task.task_id) == task


async def test_each_repository_is_told_with_its_first_and_newest_request_those_asked_in_last_first(
    store: Store,
) -> None:
    assert await store.asked_in(9) == []
    requests = [a_request(repository=repository) for repository in (20, 20, 30, 20)]
    for request in requests:
        assert await store.add(request)
    assert await store.asked_in(9) == [(requests[0], requests[3]), (requests[2], requests[2])]
    assert await store.asked_in(1) == [(requests[0], requests[3])]


async def test_the_pull_requests_of_ours_in_a_repository_are_known_by_number(store: Store) -> None:
    for repository, number in ((20, 9), (20, 12), (30, 13), (20, 11)):
        await store.save_pull(
            Pull(repository_id=repository, number=number, thread=7, branch="b", sha="a" * 40, task_id="t")
        )
    assert await store.pulls_in(20, 9) == [12, 11, 9]
    assert await store.pulls_in(20, 2) == [12, 11]
    assert await store.pulls_in(40, 9) == []
