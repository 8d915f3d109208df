"""What was found is let in once, and only where nobody has changed its words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.demo.github import Comment, Failure
from bot.github import GitHubRefused
from bot.steps import found as module
from bot.steps.found import Found, Place, threads_in
from bot.steps.world import where_asked
from bot.tasks import FOUND
from bot.triggers import issue_comment
from tests.bot.hooked import Door
from tests.bot.stage import Stage
from tests.github_world import sent

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
THREAD: dict[str, Any] = {"number": 7, "state": "open", "updated_at": "2026-01-02T03:04:05Z", "labels": []}


async def place_of(stage: Stage) -> Place:
    """Where somebody has asked before."""
    await stage.say("/agent one")
    (task,) = await stage.tasks()
    return Place(where_asked(task.request), NOW, NOW)


def payload_of(stage: Stage, comment: Comment) -> module.Payload:
    async def payload() -> module.Json:
        whole = stage.local.comment_payload("created", stage.repository, stage.issue, comment)
        return {name: whole[name] for name in ("action", "issue", "comment", "sender")}

    return payload


async def test_what_was_found_is_let_in_as_its_webhook_would_have_been(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    place, found = await place_of(stage), Found(stage.runner.world)
    await stage.local.disconnect_webhook()
    comment = await stage.say("/agent two")
    assert await found.let_in(place, "7", issue_comment.parse, payload_of(stage, comment))
    task = await stage.last()
    assert task.request.delivery_id == f"{FOUND}{stage.repository.id}-7"
    assert (task.request.command.prompt, task.request.repository.owner) == ("two", "octo")
    assert not found.is_new(place, "7")
    assert await found.let_in(place, "8", issue_comment.parse, payload_of(stage, comment))
    assert len(await stage.tasks()) == 2, "the same words under another delivery"
    assert sent(stage.local, "repos/get") == 1


async def test_what_is_no_webhooks_is_passed_over_and_looked_at_again(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    place, found = await place_of(stage), Found(stage.runner.world)

    async def broken() -> module.Json:
        return {"action": "created", "comment": {"id": "seven"}}

    async def gone() -> module.Json:
        raise GitHubRefused(410, "gone")

    async def unknown() -> None:
        return None

    for payload in (broken, gone):
        assert not await found.let_in(place, "7", issue_comment.parse, payload)
        assert found.is_new(place, "7")
    assert await found.let_in(place, "7", issue_comment.parse, unknown)
    assert not found.is_new(place, "7")
    assert len(await stage.tasks()) == 1


async def test_a_text_that_was_edited_is_left_alone_for_good(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    place, found = await place_of(stage), Found(stage.runner.world)
    shapes = stage.local._started().shapes
    as_it_was, edited = await stage.say("one"), await stage.say("two")
    edited.edited_at = edited.created_at
    texts = {
        name: shapes.comment(stage.repository, stage.issue, comment, stage.local.app)
        for name, comment in (("1", as_it_was), ("2", edited))
    }
    assert await found.unedited(place, texts | {"3": {"node_id": "nobody's"}}) == {"1": texts["1"]}
    assert [found.is_new(place, name) for name in "123"] == [True, False, True]
    assert await found.unedited(place, {}) == {}
    assert sent(stage.local, "graphql") == 1


async def test_where_edits_cannot_be_asked_for_nothing_is_let_in(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    place, found = await place_of(stage), Found(stage.runner.world)
    stage.local.fail(Failure("graphql", 403))
    with pytest.raises(GitHubRefused):
        await found.unedited(place, {"1": {"node_id": "x"}})


async def test_names_are_a_repositorys_own_and_forgotten_in_the_end(stage: Stage) -> None:
    found = Found(stage.runner.world)
    await stage.ask()
    here = Place(where_asked((await stage.the_task()).request), NOW, NOW)
    other = Place(here.where.model_copy(update={"repository_id": 5}), NOW, NOW)
    found.settle(here, "1")
    assert (found.is_new(here, "1"), found.is_new(other, "1")) == (False, True)
    for number in range(module.REMEMBERED):
        found.settle(other, str(number))
    assert found.is_new(here, "1")


def test_a_place_holds_its_ends() -> None:
    second = timedelta(seconds=1)
    place = Place(None, NOW, NOW + second)  # type: ignore[arg-type]
    times = [NOW - second, NOW, NOW + second, NOW + 2 * second]
    assert [place.holds(at) for at in times] == [False, True, True, False]


def test_what_is_no_thread_is_passed_over() -> None:
    answer = [THREAD, THREAD | {"number": "7"}, {}, THREAD | {"number": 8, "pull_request": {}}]
    assert [(one.number, one.pull_request) for one in threads_in(answer)] == [(7, None), (8, {})]


def test_what_is_no_time_is_nowhere() -> None:
    place = Place(None, NOW, NOW)  # type: ignore[arg-type]
    assert place.dates(NOW.isoformat())
    assert not any(place.dates(text) for text in ("never", "", NOW.replace(tzinfo=None).isoformat(), None, 5))
