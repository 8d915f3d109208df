"""The GraphQL operations that the bot asks for."""

from __future__ import annotations

from typing import Any

import pytest

from bot import github_documents
from bot.demo.github import Issue, LocalGitHub
from bot.demo.github_server import api_path
from bot.demo.github_shapes import node_id
from tests.bot.demo.bare import ask
from tests.github_world import Place


async def test_graphql_tells_what_rest_does_not(
    github_world: LocalGitHub, place: Place, pull: Issue, token: str
) -> None:
    async def query(document: str, **variables: Any) -> Any:
        body = {"query": document, "variables": variables}
        status, answer, _ = await ask(github_world, "POST", "/graphql", bearer=token, body=body)
        assert status == 200
        assert "errors" not in answer, answer
        return answer["data"]

    await github_world.review(
        place.repository, pull, "alice", comments=[("README.md", 1, "one"), ("README.md", 2, "two")]
    )
    assert pull.pull is not None
    github_world.resolve(pull, pull.pull.comments[0])
    where = {"owner": "octo", "name": "hello"}
    data = await query(github_documents.REVIEW_THREADS, **where, number=pull.number, after=None)
    threads = data["repository"]["pullRequest"]["reviewThreads"]["nodes"]
    assert [thread["isResolved"] for thread in threads] == [True, False]
    comment = await github_world.comment(place.repository, place.issue, "alice", "hello")
    await github_world.edit(place.repository, place.issue, comment, "hello again")
    wanted = node_id("IssueComment", comment.id)
    await query(github_documents.MINIMISE, id=wanted, reason="OUTDATED")
    data = await query(github_documents.EDITS, ids=[wanted])
    assert data["nodes"][0]["isMinimized"] is True
    assert data["nodes"][0]["lastEditedAt"] is not None
    place.repository.protected.add("main")
    data = await query(github_documents.BRANCH_RULE, **where, ref="refs/heads/main")
    assert data["repository"]["ref"]["refUpdateRule"] == {"viewerCanPush": False}


@pytest.mark.parametrize(
    ("raw", "prefix", "path"),
    [
        ("/graphql", "", "/graphql"),
        ("/api/graphql", "/api/v3", "/graphql"),
        ("/api/v3/graphql", "/api/v3", ""),
        ("/graphql", "/api/v3", ""),
        ("/api/v3/repos/o/r", "/api/v3", "/repos/o/r"),
        ("/repos/o/r", "/api/v3", ""),
    ],
)
def test_a_server_has_it_beside_the_version_of_its_rest_api(raw: str, prefix: str, path: str) -> None:
    assert api_path(raw, prefix) == path
