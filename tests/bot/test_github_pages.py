from __future__ import annotations

import pytest

from bot.demo.github import Failure, LocalGitHub
from bot.github import TO_READ, GitHub, GitHubUnavailable
from bot.github_pages import pages
from tests.bot.conversing import talk
from tests.github_world import Place, sent

PATH = "/repos/octo/hello/issues/1/comments"


async def test_p10_a_list_is_read_to_its_end_or_its_bound(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    await talk(github_world, place)
    for number in range(150):
        await github_world.comment(place.repository, place.issue, "alice", f"{number}")
    found = await pages(github_client._installations, place.where, PATH, TO_READ, most=5)
    assert [one["body"] for one in found] == [f"{number}" for number in range(150)]
    assert sent(github_world, "issues/list-comments") == 2
    assert len(await pages(github_client._installations, place.where, PATH, TO_READ, most=1)) == 100


async def test_what_is_no_list_is_no_answer(github_world: LocalGitHub, github_client: GitHub, place: Place) -> None:
    await talk(github_world, place)
    github_world.fail(Failure("issues/list-comments", 200, body=b'{"message": "hello"}'))
    with pytest.raises(GitHubUnavailable):
        await pages(github_client._installations, place.where, PATH, TO_READ, most=1)
