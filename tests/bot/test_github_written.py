"""The comments of a whole repository: all of its threads, from a time on, page by page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.demo.github import Failure, LocalGitHub
from bot.github import GitHub, GitHubUnavailable
from bot.github_pages import PER_PAGE
from tests.github_world import Place, sent


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
