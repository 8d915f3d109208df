"""Bringing the result to its thread, whatever has become of it meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot import publish
from bot.demo.github import Failure, LocalGitHub
from bot.github import GitHub, GitHubUnavailable
from bot.publish import CreateComment, Delivered, EditComment, Undeliverable
from tests.github_world import FakeTime, Place, client_of

MARK = "<!-- gofer:7:result -->"
BODY = f"the result {MARK}"


def test_the_status_comment_is_edited_and_a_new_one_is_the_fallback() -> None:
    assert publish.plan(thread=1, comment_id=9, body=BODY, marker=MARK) == (
        EditComment(9, BODY),
        CreateComment(1, BODY, MARK),
    )


def test_without_a_status_comment_one_is_created() -> None:
    steps = publish.plan(thread=1, comment_id=None, body=BODY, marker=MARK)
    assert steps == (CreateComment(1, BODY, MARK),)


@pytest.mark.parametrize(
    ("status", "goes_on"), [(404, True), (410, True), (403, False), (401, False), (422, False), (301, False)]
)
def test_only_a_comment_that_is_gone_is_replaced_by_a_new_one(status: int, goes_on: bool) -> None:
    assert publish.goes_on(EditComment(9, BODY), status) is goes_on
    assert publish.goes_on(CreateComment(1, BODY, MARK), status) is False


async def status_comment(client: GitHub, place: Place) -> int:
    marker = "<!-- gofer:7:status -->"
    return await client.create_comment(place.where, 1, f"working {marker}", marker)


async def deliver(client: GitHub, place: Place, comment_id: int | None, body: str = BODY) -> Delivered | Undeliverable:
    return await publish.perform(
        client, place.where, publish.plan(thread=1, comment_id=comment_id, body=body, marker=MARK)
    )


async def test_the_result_takes_the_place_of_the_status(github_client: GitHub, place: Place) -> None:
    comment_id = await status_comment(github_client, place)
    for _ in range(2):  # again, as after a crash before its end was stored
        assert await deliver(github_client, place, comment_id) == Delivered(comment_id)
    assert [comment.body for comment in place.issue.comments] == [BODY]


async def test_a_deleted_status_comment_is_replaced_once(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    comment_id = await status_comment(github_client, place)
    await github_world.delete(place.repository, place.issue, place.issue.comments[0])
    first = await deliver(github_client, place, comment_id)
    assert isinstance(first, Delivered)
    assert await deliver(github_client, place, comment_id) == first
    assert [comment.body for comment in place.issue.comments] == [BODY]


async def test_b82_a_502_after_storing_leaves_one_result(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.fail(Failure("issues/create-comment", 502, times=5, after_effect=True))
    delivered = await deliver(github_client, place, None)
    assert [Delivered(comment.id) for comment in place.issue.comments] == [delivered]


async def test_b83_github_down_for_two_minutes_is_no_end_and_the_result_comes_after(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    async with client_of(github_world, fake_time) as client:
        comment_id = await status_comment(client, place)
        end = fake_time() + timedelta(minutes=2)
        github_world.fail(Failure("*", 503, times=None, until=lambda: fake_time() >= end))
        with pytest.raises(GitHubUnavailable):
            await deliver(client, place, comment_id)
        fake_time.advance(minutes=2)
        assert await deliver(client, place, comment_id) == Delivered(comment_id)
    assert [comment.body for comment in place.issue.comments] == [BODY]


async def test_a_locked_thread_without_a_status_comment_is_undeliverable_in_words(
    github_client: GitHub, place: Place
) -> None:
    place.issue.locked = True
    assert await deliver(github_client, place, None) == Undeliverable("the conversation is locked")


async def test_a_thread_locked_meanwhile_still_gets_the_result_into_our_own_comment(
    github_client: GitHub, place: Place
) -> None:
    comment_id = await status_comment(github_client, place)
    place.issue.locked = True
    assert await deliver(github_client, place, comment_id) == Delivered(comment_id)


@pytest.mark.parametrize("known", [True, False])
async def test_a_deleted_issue_is_undeliverable_in_words(known: bool, github_client: GitHub, place: Place) -> None:
    comment_id = await status_comment(github_client, place)
    place.issue.deleted = True
    ended = await deliver(github_client, place, comment_id if known else None)
    assert isinstance(ended, Undeliverable)
    assert "the issue was deleted" in ended.words


async def test_a_transferred_issue_is_undeliverable_and_its_new_place_untouched(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    other = Place(github_world, name="other")
    comment_id = await status_comment(github_client, place)
    place.issue.moved_to = f"{github_world.url}/repositories/{other.repository.id}/issues/1"
    ended = await deliver(github_client, place, comment_id)
    assert isinstance(ended, Undeliverable)
    assert "moved elsewhere" in ended.words
    assert other.issue.comments == []


async def test_an_uninstalled_app_is_undeliverable_in_words(
    github_client: GitHub, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    comment_id = await status_comment(github_client, place)
    github_world.state.installations.clear()
    ended = await deliver(github_client, place, comment_id)
    assert isinstance(ended, Undeliverable)
    assert "no access" in ended.words


async def test_a_deleted_repository_is_undeliverable_in_words(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    comment_id = await status_comment(github_client, place)
    github_world.state.repositories.clear()
    ended = await deliver(github_client, place, comment_id)
    assert isinstance(ended, Undeliverable)
    assert "gone" in ended.words


async def test_a_comment_that_github_finds_too_long_ends_instead_of_looping(
    github_client: GitHub, place: Place
) -> None:
    ended = await deliver(github_client, place, None, MARK + "x" * 65_536)
    assert isinstance(ended, Undeliverable)
    assert "too long" in ended.words


@pytest.mark.parametrize("status", [301, 307, 401, 403, 404, 410, 422, 418])
def test_every_refusal_has_a_sentence(status: int) -> None:
    assert str(status) in publish.why(status, "words")
