"""What was written in a whole repository: all of its threads, from a time on, page by page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot import github_written
from bot.demo.github import Failure, LocalGitHub
from bot.github import GitHub, GitHubUnavailable
from bot.github_pages import PER_PAGE
from tests.github_world import FakeTime, Place, sent

README = {"README.md": b"more\n"}


async def test_all_threads_from_a_time_on_page_by_page(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    first = github_world.add_issue(place.repository)
    second = github_world.add_issue(place.repository)
    old = await github_world.comment(place.repository, first, "alice", "long ago")
    old.created_at = old.updated_at = old.created_at - timedelta(days=1)
    for number in range(PER_PAGE):
        await github_world.comment(place.repository, (first, second)[number % 2], "alice", f"text {number}")
    found = await github_client.written.comments(place.where, old.created_at + timedelta(hours=1))
    assert [one["body"] for one in found] == [f"text {number}" for number in range(PER_PAGE)]
    assert sent(github_world, "issues/list-comments-for-repo") == 2, "a full page may be the last"
    assert len(await github_client.written.comments(place.where, old.created_at)) == PER_PAGE + 1


async def test_comments_on_lines_of_all_pull_requests_from_a_time_on(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    pulls = [await github_world.open_pull(place.repository, README, branch=name) for name in "ab"]
    old = await github_world.review_comment(place.repository, pulls[0], "alice", "long ago")
    old.created_at = old.updated_at = old.created_at - timedelta(days=1)
    for number in range(4):
        await github_world.review_comment(place.repository, pulls[number % 2], "alice", f"text {number}")
    found = await github_client.written.line_comments(place.where, old.created_at + timedelta(hours=1))
    assert [one["body"] for one in found] == [f"text {number}" for number in range(4)]
    assert {one["pull_request_url"].rpartition("/")[2] for one in found} == {str(one.number) for one in pulls}


async def test_threads_open_and_closed_from_a_time_on_the_last_changed_first(
    github_world: LocalGitHub, github_client: GitHub, fake_time: FakeTime, place: Place
) -> None:
    since = fake_time.now + timedelta(seconds=1)
    fake_time.advance(minutes=1)
    pull = await github_world.open_pull(place.repository, README)
    issues = [github_world.add_issue(place.repository) for _ in range(PER_PAGE)]
    issues[1].closed = True
    fake_time.advance(minutes=1)
    await github_world.label(place.repository, issues[0], "agent", "alice")
    found = await github_client.written.threads(place.where, since)
    assert (found[0]["number"], [one["name"] for one in found[0]["labels"]]) == (issues[0].number, ["agent"])
    assert len(found) == PER_PAGE + 1, "the one of long ago is not among them"
    assert [one["number"] for one in found if "pull_request" in one] == [pull.number]
    assert [one["number"] for one in found if one["state"] == "closed"] == [issues[1].number]


async def test_a_pull_request_with_its_reviews(github_world: LocalGitHub, github_client: GitHub, place: Place) -> None:
    pull = await github_world.open_pull(place.repository, README)
    await github_world.review(place.repository, pull, "alice", body="one")
    await github_world.review(place.repository, pull, "alice", body="two")
    assert [one["body"] for one in await github_client.written.reviews(place.where, pull.number)] == ["one", "two"]
    found = await github_client.written.pull(place.where, pull.number)
    assert isinstance(found, dict)
    assert pull.pull is not None
    assert found["head"]["sha"] == pull.pull.sha


async def test_events_are_told_oldest_first_and_none_where_the_last_is_out_of_reach(
    github_world: LocalGitHub, github_client: GitHub, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github_written, "MOST_PAGES_OF_ONE", 1)
    for _ in range(PER_PAGE - 1):
        await github_world.label(place.repository, place.issue, "agent", "alice")
    found = await github_client.written.events(place.where, place.issue.number)
    assert [one["id"] for one in found] == [one.id for one in place.issue.labellings]
    await github_world.label(place.repository, place.issue, "agent", "alice")
    assert await github_client.written.events(place.where, place.issue.number) == []


async def test_an_issue_is_as_its_webhooks_have_it(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    issue = github_world.add_issue(place.repository)
    found = await github_client.written.issue(place.where, issue.number)
    assert isinstance(found, dict)
    assert (found["number"], found["title"]) == (issue.number, issue.title)


async def test_what_is_no_list_is_no_answer(github_world: LocalGitHub, github_client: GitHub, place: Place) -> None:
    github_world.fail(Failure("issues/list-comments-for-repo", status=200, body=b'{"message": "soon"}'))
    with pytest.raises(GitHubUnavailable):
        await github_client.written.comments(place.where, datetime.now(UTC))
