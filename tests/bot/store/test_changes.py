from __future__ import annotations

from typing import Any

import pytest

from bot.store import Caps, Store
from bot.tasks import Change, TaskState
from tests.bot.requests import a_request

CAPS = Caps(running=9, per_repository=9)


def change(what: str, **more: Any) -> Change:
    return Change.model_validate({"delivery_id": "x", "what": what, "installation_id": 1} | more)


async def cancelled(store: Store) -> list[bool]:
    return [task.cancel_requested for task in await store.tasks()]


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ({"repository_id": 20, "thread": 7}, 1),
        ({"repository_id": 20}, 2),
        ({"repositories": (20, 30)}, 3),
        ({}, 3),
        ({"installation_id": 2}, 0),
        ({"repository_id": 99}, 0),
    ],
)
async def test_a13_a_change_ends_what_it_is_about_and_nothing_else(
    store: Store, more: dict[str, Any], count: int
) -> None:
    for repository, thread in ((20, 7), (20, 8), (30, 7)):
        await store.add(a_request(repository=repository, thread=thread, installation=1))
    assert await store.apply(change("repository_gone", **more)) == count
    assert sum(await cancelled(store)) == count
    assert await store.apply(change("repository_gone", **more)) == count


async def test_a_deleted_comment_takes_back_what_has_not_begun(store: Store) -> None:
    await store.add(a_request(comment=5, installation=1))
    gone = change("comment_deleted", comment_id=5)
    (task,) = await store.claim("w", CAPS)
    task = await store.admit(task, CAPS)
    assert task.started_at is not None
    assert await store.apply(gone) == 0
    await store.finish(await store.move(task, TaskState.PUBLISHING), "failed")
    await store.add(a_request(comment=6, installation=1))
    assert await store.apply(change("comment_deleted", comment_id=6)) == 1
