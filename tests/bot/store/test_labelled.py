"""One label, put on once, is one task, whichever way it came in first."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from bot.store import Store
from bot.store.labelled import ABOUT, LOOKED_AT
from bot.tasks import FOUND, Request
from tests.bot.requests import a_request

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def labelled(
    at: datetime = AT, *, found: bool = False, name: str = "agent", thread: int = 7, kind: str = ""
) -> Request:
    """As the trigger makes it; ``kind`` makes it another delivery of the same."""
    key = f"label:1:{thread}:{name.lower()}:{at.isoformat()}"
    request = a_request(delivery=f"{FOUND if found else ''}{key}{kind}", content=key, thread=thread)
    return request.model_copy(update={"trigger": "label", "label": name, "created_at": at, "comment_id": None})


@pytest.mark.parametrize("apart", [-ABOUT, -SECOND, timedelta(), SECOND, ABOUT])
async def test_the_webhook_of_a_label_that_was_found_makes_no_second_task(store: Store, apart: timedelta) -> None:
    assert await store.add(labelled(found=True))
    assert not await store.add(labelled(AT + apart, kind="late"))


async def test_a_label_that_was_put_on_again_asks_again(store: Store) -> None:
    assert await store.add(labelled(found=True))
    assert await store.add(labelled(AT + ABOUT + SECOND))
    assert await store.add(labelled(AT + ABOUT + 2 * SECOND)), "of two webhooks each is a labelling of its own"
    assert await store.add(labelled(AT + 3 * ABOUT, found=True))


@pytest.mark.parametrize("apart", [-timedelta(days=1), ABOUT])
async def test_what_is_found_is_none_where_it_has_asked_since(store: Store, apart: timedelta) -> None:
    assert await store.add(labelled())
    assert not await store.add(labelled(AT + apart, found=True))
    assert await store.add(labelled(AT + ABOUT + SECOND, found=True))


async def test_another_label_another_thread_and_a_comment_are_something_else(store: Store) -> None:
    assert await store.add(labelled(found=True))
    assert await store.add(labelled(name="agent:x"))
    assert await store.add(labelled(thread=8))
    assert await store.add(a_request(thread=7))
    assert not await store.add(labelled(AT + SECOND, name="AGENT"))


async def test_of_a_webhook_and_a_look_at_the_same_moment_one_wins(store: Store) -> None:
    twins = [labelled(), labelled(AT + SECOND, found=True)]
    answers = await asyncio.gather(*(store.add(twins[number % 2]) for number in range(20)))
    assert sum(answers) == 1


async def test_two_stores_on_one_database_take_one_label_once(url: str) -> None:
    stores = [await Store.open(url) for _ in range(2)]
    answers = await asyncio.gather(
        *(stores[n % 2].add(labelled(AT + n % 2 * SECOND, found=n % 2 == 1)) for n in range(9))
    )
    assert sum(answers) == 1
    for store in stores:
        await store.close()


async def test_when_a_label_was_put_on_last_by_its_tasks(store: Store) -> None:
    assert await store.label_asked(1, 7, "agent") is None
    await store.add(labelled(AT + SECOND))
    await store.add(labelled(AT))
    await store.add(labelled(AT + ABOUT, name="bug"))
    await store.add(labelled(AT + ABOUT, thread=8))
    assert await store.label_asked(1, 7, "Agent") == AT + SECOND
    assert await store.label_asked(2, 7, "agent") is None
    for number in range(LOOKED_AT):
        await store.add(labelled(AT + number * SECOND, name="bug"))
    assert await store.label_asked(1, 7, "agent") is None, "only the newest are looked through"
