"""The Git database API: what GitHub refuses, and what it signs. (Every route: test_github_pulls.py.)"""

from __future__ import annotations

from typing import Any

import pytest

from bot.demo.github import Issue, LocalGitHub
from tests.bot.demo.bare import ask
from tests.github_world import Place

REPO = "/repos/octo/hello"


async def test_branches_move_forward_only_and_protected_ones_not_at_all(
    github_world: LocalGitHub, place: Place, pull: Issue, token: str
) -> None:
    assert pull.pull is not None
    base = github_world.head(place.repository) or ""
    path = f"{REPO}/git/refs/heads/topic"
    status, answer, _ = await ask(github_world, "PATCH", path, bearer=token, body={"sha": base})
    assert (status, answer["message"]) == (422, "Update is not a fast forward")
    place.repository.protected.add("topic")
    status, answer, _ = await ask(github_world, "PATCH", path, bearer=token, body={"sha": pull.pull.sha})
    assert status == 422
    assert "GH006" in answer["message"]


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("git/blobs", {"content": "%", "encoding": "base64"}, "not valid Base64"),
        ("git/trees", {"tree": [], "base_tree": "a" * 40}, "base_tree is not a valid tree"),
        ("git/trees", {"tree": [{"path": "x", "mode": "100644", "type": "blob", "sha": "a" * 40}]}, "not a valid blob"),
        ("git/trees", {"tree": [{"path": "../x", "mode": "100644", "type": "blob", "content": "x"}]}, "malformed path"),
        ("git/commits", {"message": "m", "tree": "a" * 40}, "Tree SHA does not exist"),
        ("git/refs", {"ref": "agent", "sha": "a" * 40}, "must start with 'refs/'"),
        ("git/refs", {"ref": "refs/heads/agent", "sha": "a" * 40}, "Object does not exist"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    path: str, body: dict[str, Any], words: str, github_world: LocalGitHub, place: Place, token: str
) -> None:
    status, answer, _ = await ask(github_world, "POST", f"{REPO}/{path}", bearer=token, body=body)
    assert status == 422
    assert words in answer["message"]


async def test_a_commit_with_an_author_of_its_own_is_not_signed(
    github_world: LocalGitHub, place: Place, token: str
) -> None:
    base = github_world.head(place.repository) or ""
    _, commit, _ = await ask(github_world, "GET", f"{REPO}/git/commits/{base}", bearer=token)
    body = {"message": "m", "tree": commit["tree"]["sha"], "parents": [base], "author": {"name": "A", "email": "a@b.c"}}
    status, made, _ = await ask(github_world, "POST", f"{REPO}/git/commits", bearer=token, body=body)
    assert (status, made["verification"]["verified"]) == (201, False)
