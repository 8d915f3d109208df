"""What has moved a branch, as the client reads it."""

from __future__ import annotations

import pytest

from bot.demo.github import Failure, LocalGitHub
from bot.github import GitHub, GitHubRefused, GitHubUnavailable
from bot.github_activity import MOST
from tests.github_world import FakeTime, Place


async def test_moves_of_a_branch_are_told_newest_first(
    github_world: LocalGitHub, github_client: GitHub, fake_time: FakeTime, place: Place
) -> None:
    pull = await github_world.open_pull(place.repository, {"f": b"1\n"}, branch="a/b")
    assert pull.pull is not None
    one, at = pull.pull.sha, fake_time()
    fake_time.advance(seconds=7)
    two = await github_world.push(place.repository, pull, {"f": b"2\n"})
    moves = await github_client.activity.of_branch(place.where, "octo", "hello", "a/b")
    assert [(move.before, move.after, move.at) for move in moves.listed] == [
        (one, two, fake_time()),
        ("0" * 40, one, at),
    ]
    assert moves.all_told


async def test_those_of_a_public_fork_too_and_of_a_private_one_not(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    fork = github_world.add_repository("mallory", "hello", {"f": b"x"}, installed=False)
    moves = await github_client.activity.of_branch(place.where, "mallory", "hello", "main")
    assert [move.after for move in moves.listed] == [github_world.head(fork)]
    fork.private = True
    with pytest.raises(GitHubRefused, match="404"):
        await github_client.activity.of_branch(place.where, "mallory", "hello", "main")


async def test_more_than_one_call_tells_are_not_all(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    (first,) = place.repository.activities
    place.repository.activities += [first] * MOST
    moves = await github_client.activity.of_branch(place.where, "octo", "hello", "main")
    assert (len(moves.listed), moves.all_told) == (MOST, False)


async def test_an_answer_of_another_shape_is_none(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    github_world.fail(Failure("repos/list-activities", 200, body=b'[{"before":"x"}]'))
    with pytest.raises(GitHubUnavailable):
        await github_client.activity.of_branch(place.where, "octo", "hello", "main")
