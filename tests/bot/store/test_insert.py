"""A request becomes a task once, whatever comes twice, at once, or after a restart."""

from __future__ import annotations

import asyncio

from bot.store import Store
from tests.bot.requests import a_request


async def test_b17_twenty_parallel_adds_of_one_delivery_make_one_task(store: Store) -> None:
    request = a_request(delivery="same")

    answers = await asyncio.gather(*(store.add(request) for _ in range(20)))

    assert sorted(answers) == [False] * 19 + [True]
    assert len(await store.tasks()) == 1


async def test_b17_two_stores_on_one_database_take_one_delivery_once(url: str) -> None:
    stores = [await Store.open(url) for _ in range(2)]
    request = a_request(delivery="same")

    answers = await asyncio.gather(*(store.add(request) for store in stores for _ in range(10)))

    assert sum(answers) == 1
    for store in stores:
        await store.close()


async def test_b16_redelivery_after_a_restart_makes_no_second_task(url: str) -> None:
    request = a_request(delivery="same")
    store = await Store.open(url)
    assert await store.add(request)
    await store.close()

    store = await Store.open(url)
    assert not await store.add(request)
    assert len(await store.tasks()) == 1
    await store.close()


async def test_same_comment_under_a_new_delivery_id_makes_no_second_task(store: Store) -> None:
    assert await store.add(a_request(delivery="one", content="comment-1"))
    assert not await store.add(a_request(delivery="two", content="comment-1"))


async def test_duplicate_within_one_batch_is_told_from_its_neighbours(store: Store) -> None:
    twins = [a_request(delivery="twin"), a_request(delivery="twin")]
    others = [a_request() for _ in range(5)]

    answers = await asyncio.gather(*(store.add(request) for request in [*twins, *others]))

    assert answers == [True, False, True, True, True, True, True]


async def test_b25_nul_in_a_prompt_is_stored_without_it(store: Store) -> None:
    request = a_request(delivery="a\0b", content="c\0d", prompt="fix a\u0000b \N{GRINNING FACE}")
    assert await store.add(request)

    (task,) = await store.tasks()
    assert task.request.command.prompt == "fix ab \N{GRINNING FACE}"
    assert task.request.delivery_id == "ab"


async def test_what_was_asked_comes_back_as_it_was(store: Store) -> None:
    request = a_request()
    await store.add(request)

    (task,) = await store.tasks()
    assert task.request == request
    assert (task.state, task.fence, task.worker) == ("queued", 0, None)
