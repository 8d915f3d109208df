"""Pull requests, reviews, the Git database, checks, labels and deliveries of the local GitHub answer as GitHub does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.demo.github import Issue, LocalGitHub
from bot.demo.github_routes import ROUTES
from tests.bot.demo.bare import as_app, ask
from tests.github_world import FakeTime, Place

REPO = "/repos/octo/hello"


async def test_every_route_of_the_work_conforms_to_githubs_description(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place, pull: Issue, token: str
) -> None:
    async def do(method: str, path: str, body: Any = None, status: int = 200) -> Any:
        got, answer, _ = await ask(github_world, method, path, bearer=token, body=body)
        assert got == status, (method, path, answer)
        return answer

    jwt = as_app(github_world, fake_time)
    await github_world.review(place.repository, pull, "alice", comments=[("README.md", 2, "why?")])
    assert pull.pull is not None
    root = pull.pull.comments[0]
    base = github_world.head(place.repository) or ""
    commit = await do("GET", f"{REPO}/git/commits/{base}")
    blob = await do("POST", f"{REPO}/git/blobs", {"content": "AAH/", "encoding": "base64"}, 201)
    await do("GET", f"{REPO}/git/blobs/{blob['sha']}")
    entries = [
        {"path": "a/run.sh", "mode": "100755", "type": "blob", "content": "#!/bin/sh\n"},
        {"path": "logo.bin", "mode": "100644", "type": "blob", "sha": blob["sha"]},
        {"path": "README.md", "mode": "100644", "type": "blob", "sha": None},
    ]
    tree = await do("POST", f"{REPO}/git/trees", {"base_tree": commit["tree"]["sha"], "tree": entries}, 201)
    assert [item["path"] for item in tree["tree"]] == ["a", "logo.bin"]
    await do("GET", f"{REPO}/git/trees/{tree['sha']}?recursive=1")
    made = await do("POST", f"{REPO}/git/commits", {"message": "m", "tree": tree["sha"], "parents": [base]}, 201)
    assert made["verification"]["verified"] is True
    await do("POST", f"{REPO}/git/refs", {"ref": "refs/heads/agent/1-x", "sha": made["sha"]}, 201)
    await do("GET", f"{REPO}/git/ref/heads/agent/1-x")
    opened = await do("POST", f"{REPO}/pulls", {"title": "T", "head": "agent/1-x", "base": "main", "draft": True}, 201)
    await do("GET", f"{REPO}/pulls?state=all&head=octo:agent/1-x&base=main")
    await do("GET", f"{REPO}/pulls/{opened['number']}")
    await do("PATCH", f"{REPO}/pulls/{opened['number']}", {"title": "T2", "body": "B"})
    await do("GET", f"{REPO}/pulls/{opened['number']}/files")
    await do("PATCH", f"{REPO}/git/refs/heads/agent/1-x", {"sha": made["sha"]})
    await do("DELETE", f"{REPO}/git/refs/heads/agent/1-x", status=204)
    await do("GET", f"{REPO}/contents/README.md")
    await do("GET", f"{REPO}/pulls/{pull.number}/reviews")
    await do("GET", f"{REPO}/pulls/{pull.number}/reviews/{pull.pull.reviews[0].id}")
    await do("GET", f"{REPO}/pulls/{pull.number}/reviews/1", status=404)
    await do("GET", f"{REPO}/pulls/comments/{root.id}")
    await do("GET", f"{REPO}/pulls/comments/1", status=404)
    await do("POST", f"{REPO}/pulls/{pull.number}/reviews", {"event": "COMMENT", "body": "x"})
    await do("GET", f"{REPO}/pulls/{pull.number}/comments?per_page=1")
    listed = await do("GET", f"{REPO}/pulls/comments?sort=created&direction=asc&since=2020-01-01T00:00:00Z")
    assert [one["id"] for one in listed] == [root.id]
    assert await do("GET", f"{REPO}/pulls/comments?since=2030-01-01T00:00:00Z") == []
    await do("POST", f"{REPO}/pulls/{pull.number}/comments/{root.id}/replies", {"body": "done"}, 201)
    await do("POST", f"{REPO}/pulls/comments/{root.id}/reactions", {"content": "eyes"}, 201)
    await do("POST", f"{REPO}/issues/1/labels", {"labels": ["agent"]})
    await do("GET", f"{REPO}/issues/1/labels")
    await do("DELETE", f"{REPO}/issues/1/labels/Agent")
    check = {"name": "gofer", "head_sha": base, "status": "in_progress", "output": {"title": "t", "summary": "s"}}
    run = await do("POST", f"{REPO}/check-runs", check, 201)
    await do("PATCH", f"{REPO}/check-runs/{run['id']}", {"status": "completed", "conclusion": "success"})
    await do("GET", f"{REPO}/commits/{base}/check-runs?check_name=gofer")
    github_world.conclude(place.repository, base)
    suites = await do("GET", f"{REPO}/commits/{base}/check-suites")
    assert [(one["app"]["slug"], one["conclusion"]) for one in suites["check_suites"]] == [
        ("github-actions", "action_required")
    ]
    await github_world.connect_webhook("http://127.0.0.1:9/nobody")
    await github_world.comment(place.repository, place.issue, "alice", "lost")
    status, listed, _ = await ask(github_world, "GET", "/app/hook/deliveries?per_page=1&status=failure", bearer=jwt)
    assert (status, listed[0]["status"]) == (200, "failed to connect")
    path = f"/app/hook/deliveries/{listed[0]['id']}/attempts"
    assert (await ask(github_world, "POST", path, bearer=jwt))[0] == 202
    seen = {exchange.operation for exchange in github_world.log if exchange.status in {200, 201, 202, 204}}
    new = {route.operation for route in ROUTES if route.operation.partition("/")[0] in {"git", "pulls", "checks"}}
    assert new <= seen


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"title": "T", "head": "nowhere", "base": "main"}, "Validation Failed"),
        ({"title": "T", "head": "main", "base": "main"}, "No commits between main and main"),
        ({"title": "T", "head": "topic", "base": "main"}, "A pull request already exists for octo:topic."),
        ({"title": "T", "head": "topic", "base": "other", "draft": True}, "Draft pull requests are not supported"),
    ],
)
async def test_pull_requests_are_refused_in_githubs_words(
    body: dict[str, Any], words: str, github_world: LocalGitHub, place: Place, pull: Issue, token: str
) -> None:
    place.repository.drafts = False
    github_world.commit(place.repository, {"x": b"x"}, branch="other")
    status, answer, _ = await ask(github_world, "POST", f"{REPO}/pulls", bearer=token, body=body)
    assert status == 422
    assert words in json.dumps(answer)


async def test_a_forks_head_is_under_refs_pull_here(github_world: LocalGitHub, place: Place, token: str) -> None:
    fork = github_world.add_repository("mallory", "hello", {"README.md": b"# Hello\n"}, installed=False)
    pull = await github_world.open_pull(place.repository, {"evil.txt": b"x\n"}, user="mallory", fork=fork)
    assert pull.pull is not None
    status, answer, _ = await ask(github_world, "GET", f"{REPO}/git/ref/pull/{pull.number}/head", bearer=token)
    assert (status, answer["object"]["sha"]) == (200, pull.pull.sha)
    status, answer, _ = await ask(github_world, "GET", f"{REPO}/pulls/{pull.number}", bearer=token)
    assert answer["head"]["repo"]["id"] == fork.id
