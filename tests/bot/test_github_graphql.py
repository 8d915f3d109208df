from __future__ import annotations

import json

import pytest

from bot import github_documents as documents
from bot.demo.github import Failure, LocalGitHub
from bot.github import TO_READ, GitHub, GitHubRefused, GitHubUnavailable
from bot.github_graphql import ask
from bot.github_urls import base_for
from tests.bot.conversing import talk
from tests.github_world import Place, sent

VARIABLES = {"owner": "octo", "name": "hello", "ref": "refs/heads/main"}


@pytest.mark.parametrize(
    ("kind", "error"),
    [("NOT_FOUND", "404"), ("FORBIDDEN", "403"), ("UNPROCESSABLE", "422"), ("", "422")],
)
async def test_errors_come_with_status_200_and_are_errors_all_the_same(
    kind: str, error: str, github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    await talk(github_world, place)
    body = json.dumps({"data": {}, "errors": [{"type": kind, "message": "no"}]})
    github_world.fail(Failure("graphql", 200, body=body.encode(), times=2))
    with pytest.raises(GitHubRefused, match=error):
        await ask(github_client._installations, place.where, documents.BRANCH_RULE, VARIABLES, TO_READ)
    assert sent(github_world, "graphql") == (2 if error == "404" else 1)


async def test_v02_what_is_not_found_once_is_asked_for_again(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    await talk(github_world, place)
    usual = await ask(github_client._installations, place.where, documents.BRANCH_RULE, VARIABLES, TO_READ)
    body = b'{"data": {}, "errors": [{"type": "NOT_FOUND", "message": "no"}]}'
    github_world.fail(Failure("graphql", 200, body=body))
    assert await ask(github_client._installations, place.where, documents.BRANCH_RULE, VARIABLES, TO_READ) == usual


async def test_v02_a_rate_limit_is_waited_for(github_world: LocalGitHub, github_client: GitHub, place: Place) -> None:
    await talk(github_world, place)
    body = b'{"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}'
    github_world.fail(Failure("graphql", 200, body=body))
    with pytest.raises(GitHubUnavailable):
        await ask(github_client._installations, place.where, documents.BRANCH_RULE, VARIABLES, TO_READ)


@pytest.mark.parametrize(
    ("api", "base"),
    [("https://api.github.com", "https://api.github.com"), ("https://ghes.test/api/v3", "https://ghes.test/api")],
)
def test_on_a_server_of_ones_own_graphql_is_beside_the_version(api: str, base: str) -> None:
    assert base_for(api, "/graphql") == base
    assert base_for(api, "/app") == api
