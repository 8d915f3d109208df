"""Reviews of our own pull requests of which no webhook was made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.demo.github import Failure, Issue
from bot.steps import unanswered_reviews as module
from bot.steps.found import Place
from bot.steps.unanswered import Unanswered
from bot.steps.unanswered_reviews import asking_in
from tests.bot.hooked import Door
from tests.bot.looking import LATER, as_if_told, heard, looked, ours
from tests.bot.stage import Stage
from tests.github_world import sent

REVIEWS = "pulls/list-reviews"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PLACE = Place(None, NOW - timedelta(days=3), NOW - timedelta(minutes=1))  # type: ignore[arg-type]
REVIEW: dict[str, Any] = {
    "id": 1,
    "user": {"id": 5},
    "body": "",
    "state": "CHANGES_REQUESTED",
    "submitted_at": "2026-01-02T03:00:00Z",
}


async def a_pull(stage: Stage, branch: str = "topic") -> Issue:
    pull = await stage.local.open_pull(stage.repository, {"README.md": b"more\n"}, branch=branch)
    await ours(stage, pull)
    return pull


async def test_changes_requested_of_us_are_found_as_their_webhook_would_have_brought_them(
    hooked: tuple[Stage, Door],
) -> None:
    stage, door = hooked
    await stage.say("/agent one")
    pull = await a_pull(stage)
    await door.close()
    review = await stage.local.review(stage.repository, pull, "alice", body="not yet")
    _, found = await looked(stage)
    assert (found.request.review_id, found.request.delivery_id) == (
        review.id,
        f"found-{stage.repository.id}-review-{review.id}",
    )
    await heard(stage, door)
    assert len(await looked(stage)) == 2, "its webhook has the same content"
    again = await stage.local.review(stage.repository, pull, "alice", body="not yet")
    told = (await stage.last()).request
    assert as_if_told(found.request, told) == told.model_copy(
        update={
            "review_id": review.id,
            "content_key": told.content_key.replace(str(again.id), str(review.id)),
            "created_at": found.request.created_at,
        }
    )


async def test_a_command_in_a_review_is_found_and_everything_else_is_left_alone(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    pull, others = await a_pull(stage), await stage.local.open_pull(stage.repository, {"g": b""}, branch="theirs")
    await stage.local.disconnect_webhook()
    await stage.local.review(stage.repository, pull, "alice", "COMMENTED", "/agent two")
    await stage.local.review(stage.repository, pull, "alice", "COMMENTED", "well done")
    edited = await stage.local.review(stage.repository, pull, "alice", "COMMENTED", "/agent edited")
    edited.edited_at = edited.submitted_at
    await stage.local.review(stage.repository, others, "alice", "COMMENTED", "/agent of somebody's pull request")
    closed = await a_pull(stage, "closed")
    await stage.local.review(stage.repository, closed, "alice", "COMMENTED", "/agent of a closed one")
    closed.closed = True
    assert [task.request.command.prompt for task in await looked(stage)] == ["one", "two"]
    assert sent(stage.local, REVIEWS) == 1


async def test_who_has_approved_since_asks_for_no_changes(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    pull = await a_pull(stage)
    await stage.local.disconnect_webhook()
    await stage.local.review(stage.repository, pull, "alice")
    await stage.local.review(stage.repository, pull, "alice", "APPROVED")
    assert len(await looked(stage)) == 1


async def test_a_pull_request_is_asked_for_again_only_when_it_has_changed(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    pull = await a_pull(stage)
    await stage.local.disconnect_webhook()
    await stage.local.review(stage.repository, pull, "alice")
    looks = Unanswered(stage.runner.world)
    asked = []
    for seconds in (0, 0, LATER, 0, 0):
        stage.clock.time += seconds
        await looks.look()
        asked.append(sent(stage.local, REVIEWS))
    assert asked == [1, 2, 3, 3, 3], "within the grace it may change without a trace"
    assert (len(await stage.tasks()), sent(stage.local, "pulls/get")) == (2, 1)
    pull.pushed_at = pull.updated_at + timedelta(seconds=1)
    await looks.look()
    assert sent(stage.local, REVIEWS) == 4


async def test_a_review_that_could_not_be_let_in_is_looked_at_again(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    pull = await a_pull(stage)
    await stage.local.disconnect_webhook()
    await stage.local.review(stage.repository, pull, "alice")
    stage.local.fail(Failure("pulls/get", 403, times=1))
    looks = Unanswered(stage.runner.world)
    stage.clock.time += LATER
    for _ in range(2):
        await looks.look()
    assert len(await stage.tasks()) == 2


async def test_a_look_asks_for_a_bounded_number_and_the_next_one_for_the_rest(
    hooked: tuple[Stage, Door], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, _ = hooked
    monkeypatch.setattr(module, "AT_ONCE", 2)
    await stage.say("/agent one")
    pulls = [await a_pull(stage, f"topic-{number}") for number in range(3)]
    await stage.local.disconnect_webhook()
    for pull in pulls:
        await stage.local.review(stage.repository, pull, "alice")
    stage.clock.time += LATER
    looks = Unanswered(stage.runner.world)
    found = []
    for _ in range(3):
        await looks.look()
        found.append((sent(stage.local, REVIEWS), len(await stage.tasks())))
    assert found == [(2, 3), (3, 4), (3, 4)]


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({}, True),
        ({"state": "changes_requested"}, True),
        ({"state": "COMMENTED"}, False),
        ({"state": "DISMISSED"}, False),
        ({"state": "APPROVED", "body": "/agent and then"}, True),
        ({"submitted_at": None, "state": "PENDING", "body": "/agent draft"}, False),
        ({"submitted_at": "2026-01-02T03:04:05Z"}, False),
        ({"submitted_at": "2025-12-01T03:00:00Z"}, False),
        ({"submitted_at": "never"}, False),
        ({"body": None, "user": None}, True),
    ],
)
def test_what_counts(change: dict[str, Any], counts: bool) -> None:
    assert asking_in([REVIEW | change], "/agent", PLACE) == ([REVIEW | change] if counts else [])


def test_only_the_reviewers_own_later_approval_counts() -> None:
    approval = REVIEW | {"id": 2, "state": "APPROVED"}
    assert asking_in([REVIEW, approval], "/agent", PLACE) == []
    assert asking_in([approval, REVIEW], "/agent", PLACE) == [REVIEW]
    assert asking_in([REVIEW, approval | {"user": {"id": 6}}], "/agent", PLACE) == [REVIEW]
