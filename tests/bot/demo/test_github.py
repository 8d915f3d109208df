"""The local GitHub answers as GitHub does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.demo.github import LocalGitHub
from bot.demo.github_auth import new_key
from bot.demo.github_routes import ROUTES
from bot.github_auth import app_jwt, load_key
from sandbox import spawn
from tests.bot.demo.bare import as_app, ask, token_for
from tests.github_world import FakeTime, Place
from tests.openapi import conform

# Who may.


@pytest.mark.parametrize(
    ("shift", "status", "words"),
    [
        ({"seconds": 0}, 200, ""),
        ({"seconds": 60}, 200, ""),
        ({"seconds": 61}, 401, "'iat'"),
        ({"seconds": 121}, 401, "'iat'"),
        ({"seconds": -479}, 200, ""),
        ({"seconds": -481}, 401, "'exp'"),
    ],
)
async def test_v08_the_times_of_a_jwt_are_checked(
    shift: dict[str, float], status: int, words: str, github_world: LocalGitHub, fake_time: FakeTime
) -> None:
    made = app_jwt(str(github_world.app.id), load_key(github_world.private_key), fake_time() + timedelta(**shift))
    got, answer, _ = await ask(github_world, "GET", "/app", bearer=made)
    assert got == status
    assert words in str(answer)


async def test_a_jwt_of_a_foreign_key_or_app_is_refused(github_world: LocalGitHub, fake_time: FakeTime) -> None:
    _, foreign = new_key()
    got, answer, _ = await ask(
        github_world, "GET", "/app", bearer=app_jwt(str(github_world.app.id), load_key(foreign), fake_time())
    )
    assert (got, answer["message"]) == (401, "A JSON web token could not be decoded")
    other = app_jwt("12345", load_key(github_world.private_key), fake_time())
    assert (await ask(github_world, "GET", "/app", bearer=other))[0] == 404
    by_client_id = app_jwt(github_world.app.client_id, load_key(github_world.private_key), fake_time())
    assert (await ask(github_world, "GET", "/app", bearer=by_client_id))[0] == 200


async def test_a_token_is_good_for_its_hour_its_repository_and_its_permissions(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    secret = Place(github_world, name="secret", private=True)
    token = await token_for(github_world, fake_time, place, {"issues": "read"})
    comments = "/repos/octo/hello/issues/1/comments"
    assert (await ask(github_world, "GET", comments, bearer=token))[0] == 200
    assert (await ask(github_world, "POST", comments, bearer=token, body={"body": "x"}))[0] == 403
    assert (await ask(github_world, "GET", "/repos/octo/secret", bearer=token))[0] == 404
    assert (await ask(github_world, "GET", "/repos/octo/secret"))[0] == 404
    assert (await ask(github_world, "POST", comments, body={"body": "x"}))[0] == 401
    fake_time.advance(minutes=60)
    assert (await ask(github_world, "GET", comments, bearer=token))[0] == 401
    assert secret.issue.comments == place.issue.comments == []


async def test_a_token_for_one_public_repository_cannot_write_to_another(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    Place(github_world, name="other")
    token = await token_for(github_world, fake_time, place)
    assert (await ask(github_world, "GET", "/repos/octo/other", bearer=token))[0] == 200
    path = "/repos/octo/other/issues/1/comments"
    assert (await ask(github_world, "POST", path, bearer=token, body={"body": "x"}))[0] == 403


async def test_a_revoked_token_is_bad_at_once(github_world: LocalGitHub, fake_time: FakeTime, place: Place) -> None:
    token = await token_for(github_world, fake_time, place)
    assert (await ask(github_world, "DELETE", "/installation/token", bearer=token))[0] == 204
    status, answer, _ = await ask(github_world, "DELETE", "/installation/token", bearer=token)
    assert (status, answer["message"]) == (401, "Bad credentials")


@pytest.mark.parametrize(
    "body",
    [
        {"permissions": {"administration": "write"}},
        {"permissions": {"members": "read"}},
        {"repository_ids": [1], "permissions": {"contents": "read"}},
    ],
)
async def test_a_mint_beyond_what_was_granted_is_unprocessable(
    body: dict[str, Any], github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    path = f"/app/installations/{place.where.installation_id}/access_tokens"
    assert (await ask(github_world, "POST", path, bearer=as_app(github_world, fake_time), body=body))[0] == 422


# What it answers.


async def test_every_route_conforms_to_githubs_description(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    comment = await github_world.comment(place.repository, place.issue, "alice", "hello")
    github_world.add_issue(place.repository, pull_request=True)
    token = await token_for(
        github_world, fake_time, place, {"issues": "write", "pull_requests": "write", "contents": "read"}
    )
    jwt = as_app(github_world, fake_time)
    repo = "/repos/octo/hello"
    await ask(github_world, "GET", "/app", bearer=jwt)
    await ask(github_world, "GET", f"{repo}/installation", bearer=jwt)
    await ask(github_world, "GET", repo, bearer=token)
    await ask(github_world, "GET", f"{repo}/collaborators/alice/permission", bearer=token)
    for number in (1, 2):
        await ask(github_world, "GET", f"{repo}/issues/{number}", bearer=token)
        _, made, _ = await ask(
            github_world, "POST", f"{repo}/issues/{number}/comments", bearer=token, body={"body": "x"}
        )
        await ask(github_world, "GET", f"{repo}/issues/{number}/comments?per_page=1", bearer=token)
    for content in ("eyes", "+1", "eyes"):
        path = f"{repo}/issues/comments/{comment.id}/reactions"
        await ask(github_world, "POST", path, bearer=token, body={"content": content})
    await ask(github_world, "GET", f"{repo}/issues/comments/{comment.id}/reactions", bearer=token)
    await ask(github_world, "GET", f"{repo}/issues/comments/{comment.id}", bearer=token)
    await ask(github_world, "PATCH", f"{repo}/issues/comments/{made['id']}", bearer=token, body={"body": "y"})
    await ask(github_world, "DELETE", f"{repo}/issues/comments/{made['id']}", bearer=token)
    await ask(github_world, "DELETE", "/installation/token", bearer=token)
    seen = {exchange.operation for exchange in github_world.log if exchange.status in {200, 201, 204}}
    # The rest of the routes: test_github_pulls.py.
    assert seen <= {route.operation for route in ROUTES}
    # The fixture holds the log against the description at its end; here it is seen that the names are GitHub's own.
    known = {op["operationId"] for ops in conform.description()["paths"].values() for op in ops.values()}
    assert seen <= known


@pytest.mark.parametrize(
    ("body", "status"), [("", 422), ("  \n", 422), ("x" * 65_536, 201), ("x" * 65_537, 422), ("é" * 65_536, 201)]
)
async def test_a_comment_has_githubs_limits(
    body: str, status: int, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    token = await token_for(github_world, fake_time, place)
    path = "/repos/octo/hello/issues/1/comments"
    assert (await ask(github_world, "POST", path, bearer=token, body={"body": body}))[0] == status


async def test_answers_carry_rate_limits_and_githubs_time(github_world: LocalGitHub, fake_time: FakeTime) -> None:
    _, _, headers = await ask(github_world, "GET", "/app", bearer=as_app(github_world, fake_time))
    lower = {name.lower(): value for name, value in headers.items()}
    assert lower["date"] == "Sun, 01 Mar 2026 12:00:00 GMT"
    assert int(lower["x-ratelimit-remaining"]) < int(lower["x-ratelimit-limit"]) == 5000
    assert int(lower["x-ratelimit-reset"]) > fake_time().timestamp()


async def test_a_list_of_comments_comes_in_pages_with_a_link(github_world: LocalGitHub, place: Place) -> None:
    for number in range(5):
        await github_world.comment(place.repository, place.issue, "alice", f"{number}")
    path = "/repos/octo/hello/issues/1/comments?per_page=2"
    status, answer, headers = await ask(github_world, "GET", path)
    assert (status, [comment["body"] for comment in answer]) == (200, ["0", "1"])
    assert 'page=2>; rel="next"' in headers["Link"]
    _, answer, headers = await ask(github_world, "GET", path + "&page=3")
    assert [comment["body"] for comment in answer] == ["4"]
    assert "Link" not in headers


async def test_a_fact_that_never_comes_ends_with_the_history(github_world: LocalGitHub, place: Place) -> None:
    await github_world.comment(place.repository, place.issue, "alice", "the only words")
    await ask(github_world, "GET", "/repos/octo/hello")
    with pytest.raises(AssertionError, match=r"(?s)GET /repos/octo/hello.*the only words"):
        await github_world.await_comment(lambda comment: comment.body == "other words", seconds=0.05)


async def test_a_fact_that_comes_later_is_seen(github_world: LocalGitHub, place: Place) -> None:
    waiting = spawn(github_world.await_comment(lambda comment: comment.body == "at last"), name="waiting")
    for words in ("not yet", "at last"):
        await github_world.comment(place.repository, place.issue, "alice", words)
    assert (await waiting).body == "at last"
