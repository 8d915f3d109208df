"""One living process a worker name; with SQLite one at all."""

from __future__ import annotations

import pytest

from bot.store import Caps, Store, StoreError
from tests.bot.clock import Clock
from tests.bot.requests import a_request

CAPS = Caps(running=9, per_repository=9)


async def test_second_server_of_one_name_is_refused_in_words(url: str) -> None:
    first, second = await Store.open(url), await Store.open(url)
    await first.become_worker("gofer")
    with pytest.raises(StoreError, match="another gofer serve is running"):
        await second.become_worker("gofer")
    await first.close()
    await second.become_worker("gofer")
    await second.close()


async def test_tool_reads_while_the_server_runs(url: str) -> None:
    server, tool = await Store.open(url), await Store.open(url)
    await server.become_worker("gofer")
    await server.add(a_request())
    assert len(await tool.tasks()) == 1
    await tool.close()
    await server.close()


async def test_restarted_worker_goes_on_at_once_with_what_it_held(url: str, clock: Clock) -> None:
    dead = await Store.open(url, clock=clock)
    await dead.become_worker("gofer")
    await dead.add(a_request())
    (task,) = await dead.claim("gofer", CAPS)
    await dead.close()

    store = await Store.open(url, clock=clock)
    await store.become_worker("gofer")
    (again,) = await store.claim("gofer", CAPS)
    assert (again.task_id, again.attempts) == (task.task_id, 1)
    await store.close()


@pytest.mark.postgresql
async def test_start_of_one_worker_takes_nothing_from_a_living_one(cluster: str, clock: Clock) -> None:
    url = f"postgresql://gofer@/postgres?host={cluster}"
    one, two = await Store.open(url, clock=clock), await Store.open(url, clock=clock)
    await one.become_worker("one")
    await one.add(a_request(repository=77))
    held = await one.claim("one", CAPS)
    await two.become_worker("two")
    assert {task.task_id for task in await two.claim("two", CAPS)} & {task.task_id for task in held} == set()
    await one.close()
    await two.close()
