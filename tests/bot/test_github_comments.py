"""Reactions and comments against the local GitHub: once each, and only our own."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from bot.demo.github import Comment, LocalGitHub
from bot.github import GitHub, GitHubRefused
from sandbox import spawn
from tests.github_world import START, FakeTime, Place, client_of, sent

MARK = "<!-- gofer:7:status -->"
CREATE = "issues/create-comment"


async def test_reacting_twice_leaves_one_reaction(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    comment = await github_world.comment(place.repository, place.issue, "octo", "/agent do it")
    await github_client.react(place.where, comment.id, "eyes")
    await github_client.react(place.where, comment.id, "eyes")
    assert [reaction.content for reaction in comment.reactions] == ["eyes"]


async def test_reacting_to_a_deleted_comment_is_refused(github_client: GitHub, place: Place) -> None:
    with pytest.raises(GitHubRefused, match="404"):
        await github_client.react(place.where, 12345, "eyes")


async def test_o13_creating_again_after_a_crash_posts_no_second_copy(
    github_client: GitHub, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    first = await github_client.create_comment(place.where, 1, f"one {MARK}", MARK)
    async with client_of(github_world, fake_time) as after_kill:  # knows nothing of the first
        assert await after_kill.create_comment(place.where, 1, f"two {MARK}", MARK) == first
    assert [comment.body for comment in place.issue.comments] == [f"one {MARK}"]


async def test_o13_two_at_the_same_moment_post_one_comment(github_client: GitHub, place: Place) -> None:
    create = github_client.create_comment
    ids = await asyncio.gather(
        *(spawn(create(place.where, 1, f"n {MARK}", MARK), name=f"create-{n}") for n in range(8))
    )
    assert len(set(ids)) == 1
    assert len(place.issue.comments) == 1


async def test_a_comment_of_somebody_else_with_our_marker_is_not_ours(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    forged = await github_world.comment(place.repository, place.issue, "eve", f"fake result {MARK}")
    bot = github_world.add_user("other-app[bot]", "Bot")
    place.issue.comments.append(Comment(1, MARK, bot, START, START, history=[MARK]))
    # A person who acts through our App's user token: the App is noted, but it is not the App that speaks.
    person = github_world.add_user("eve")
    place.issue.comments.append(Comment(2, MARK, person, START, START, by_app=True, history=[MARK]))
    assert await github_client.find_comment(place.where, 1, MARK) is None
    made = await github_client.create_comment(place.where, 1, f"real {MARK}", MARK)
    assert made not in {1, 2, forged.id}


async def test_our_comment_is_found_on_a_later_page(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    for number in range(61):
        await github_world.comment(place.repository, place.issue, "octo", f"chatter {number}")
    made = await github_client.create_comment(place.where, 1, f"real {MARK}", MARK)
    assert await github_client.find_comment(place.where, 1, MARK) == made


async def test_since_spares_the_pages_before(
    github_client: GitHub, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    for number in range(61):
        await github_world.comment(place.repository, place.issue, "octo", f"chatter {number}")
    fake_time.advance(hours=2)
    since = fake_time() - timedelta(minutes=1)
    made = await github_client.create_comment(place.where, 1, f"real {MARK}", MARK, since=since)
    assert await github_client.find_comment(place.where, 1, MARK, since=since) == made
    assert sent(github_world, "issues/list-comments") == 2


async def test_a_comment_without_its_marker_is_never_posted(github_client: GitHub, place: Place) -> None:
    for marker in ("", MARK):
        with pytest.raises(ValueError, match="marker"):
            await github_client.create_comment(place.where, 1, "no marker", marker)


async def test_writing_on_a_pull_request_asks_for_that_permission(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.add_issue(place.repository, pull_request=True)
    with pytest.raises(GitHubRefused, match="not accessible"):
        await github_client.create_comment(place.where, 2, f"hi {MARK}", MARK)
    await github_client.create_comment(place.where, 2, f"hi {MARK}", MARK, pull_request=True)


async def test_lone_surrogates_and_emoji_do_not_break_a_comment(github_client: GitHub, place: Place) -> None:
    await github_client.create_comment(place.where, 1, f"\ud83d 😀 \x00 {MARK}", MARK)
    assert len(place.issue.comments) == 1
