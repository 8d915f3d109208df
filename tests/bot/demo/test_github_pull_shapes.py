"""Shapes that no route of the happy path shows."""

from __future__ import annotations

from bot.demo.github import Issue, LocalGitHub
from tests.bot.demo.bare import ask
from tests.github_world import Place


async def test_b68_the_head_of_a_deleted_fork_has_no_repository(
    github_world: LocalGitHub, place: Place, pull: Issue, token: str
) -> None:
    assert pull.pull is not None
    _, before, _ = await ask(github_world, "GET", f"/repos/octo/hello/pulls/{pull.number}", bearer=token)
    assert before["head"]["label"] == "octo:topic"
    pull.pull.head_repository = None
    _, after, _ = await ask(github_world, "GET", f"/repos/octo/hello/pulls/{pull.number}", bearer=token)
    assert (after["head"]["label"], after["head"]["repo"]) == ("unknown:topic", None)
    # GitHub's own description forbids what GitHub sends here, so this one answer is not held against it.
    github_world.log.pop()


async def test_a_merged_pull_request_says_so(github_world: LocalGitHub, place: Place, pull: Issue, token: str) -> None:
    await github_world.close(place.repository, pull, merge=True)
    _, shape, _ = await ask(github_world, "GET", f"/repos/octo/hello/pulls/{pull.number}", bearer=token)
    assert (shape["state"], shape["merged"], shape["merged_by"]["login"]) == ("closed", True, "octo")
    assert shape["merge_commit_sha"] == github_world.head(place.repository)
