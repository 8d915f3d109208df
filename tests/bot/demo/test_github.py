"""The local GitHub answers as GitHub does."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bot.demo.github import Comment, Failure, File, LocalGitHub, Repository
from bot.demo.github_auth import new_key
from bot.demo.github_routes import ROUTES
from bot.github_auth import app_jwt, load_key
from sandbox import spawn
from tests.github_world import FakeTime, Place
from tests.openapi import conform

HEADERS = {"User-Agent": "test", "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


async def ask(
    server: LocalGitHub, method: str, path: str, *, bearer: str = "", body: Any = None
) -> tuple[int, Any, dict[str, str]]:
    """One bare request."""
    headers = HEADERS | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, server.url + path, headers=headers, json=body, allow_redirects=False) as response,
    ):
        text = await response.text()
        return response.status, json.loads(text) if text else None, dict(response.headers)


def as_app(server: LocalGitHub, time: FakeTime) -> str:
    return app_jwt(str(server.app.id), load_key(server.private_key), time())


async def token_for(
    server: LocalGitHub, time: FakeTime, place: Place, permissions: dict[str, str] | None = None
) -> str:
    body = {"repository_ids": [place.repository.id], "permissions": permissions or {"issues": "write"}}
    path = f"/app/installations/{place.where.installation_id}/access_tokens"
    status, answer, _ = await ask(server, "POST", path, bearer=as_app(server, time), body=body)
    assert status == 201
    return str(answer["token"])


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
        {"permissions": {"contents": "write"}},
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
    assert seen == {route.operation for route in ROUTES}
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


# Webhooks.


class Receiver:
    """Takes webhooks as the bot does."""

    def __init__(self, status: int = 202) -> None:
        self.seen: list[tuple[dict[str, str], bytes]] = []
        self.status = status

    async def take(self, request: web.Request) -> web.Response:
        self.seen.append((dict(request.headers), await request.read()))
        return web.Response(status=self.status)


async def receiving(server: LocalGitHub, receiver: Receiver) -> web.AppRunner:
    application = web.Application()
    application.router.add_post("/webhook", receiver.take)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await server.connect_webhook(f"http://127.0.0.1:{runner.addresses[0][1]}/webhook")
    return runner


async def test_a_comment_is_delivered_with_githubs_headers_and_a_right_signature(
    github_world: LocalGitHub, place: Place
) -> None:
    receiver = Receiver()
    runner = await receiving(github_world, receiver)
    await github_world.comment(place.repository, place.issue, "alice", "/agent do it")
    await github_world.redeliver(github_world.deliveries[0])
    await runner.cleanup()
    (headers, body), (again, same) = receiver.seen
    secret = github_world.webhook_secret.get_secret_value().encode()
    assert headers["X-Hub-Signature-256"] == "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    assert headers["User-Agent"].startswith("GitHub-Hookshot/")
    assert headers["X-GitHub-Event"] == "issue_comment"
    assert headers["X-GitHub-Hook-Installation-Target-Type"] == "integration"
    assert headers["X-GitHub-Hook-Installation-Target-ID"] == str(github_world.app.id)
    assert (again["X-GitHub-Delivery"], same) == (headers["X-GitHub-Delivery"], body)
    assert [delivery.status for delivery in github_world.deliveries] == [202, 202]


def lacking(real: Any, ours: Any, path: str = "") -> list[str]:
    """Fields of a recorded payload that ours lacks, or has with another type (null fits any)."""
    if real is None or ours is None:
        return []
    if type(real) is not type(ours):
        return [f"{path}: {type(ours).__name__} for {type(real).__name__}"]
    if isinstance(real, dict):
        missing = [f"{path}.{name}" for name in real.keys() - ours.keys()]
        return missing + [
            p for name in real.keys() & ours.keys() for p in lacking(real[name], ours[name], f"{path}.{name}")
        ]
    return []


@pytest.mark.parametrize("action", ["created", "edited", "deleted"])
def test_the_webhook_has_all_that_a_recorded_one_has(action: str, github_world: LocalGitHub, place: Place) -> None:
    place.repository.owner.type = "Organization"
    alice = github_world.add_user("alice")
    now = place.repository.created_at
    comment = Comment(1, "new", alice, now, now, history=["old", "new"])
    place.issue.comments.append(comment)
    payload = github_world.comment_payload(action, place.repository, place.issue, comment)
    recorded = json.loads((Path(conform.__file__).parent / "issue_comment.created.json").read_text())
    # Issues have it only on pull requests, and milestones and labels are the repository's own business.
    assert [p for p in lacking(recorded, payload) if p not in {".issue.draft"}] == []
    assert payload["comment"]["user"]["type"] == "User"
    assert ("changes" in payload) == (action == "edited")


async def test_the_app_hears_of_its_own_comments(github_world: LocalGitHub, fake_time: FakeTime, place: Place) -> None:
    receiver = Receiver()
    runner = await receiving(github_world, receiver)
    token = await token_for(github_world, fake_time, place)
    await ask(github_world, "POST", "/repos/octo/hello/issues/1/comments", bearer=token, body={"body": "I am a bot"})
    await github_world.until(lambda: bool(github_world.deliveries))
    await runner.cleanup()
    payload = json.loads(receiver.seen[0][1])
    assert payload["sender"] == payload["comment"]["user"]
    assert (payload["sender"]["type"], payload["sender"]["login"]) == ("Bot", "gofer-local[bot]")


async def test_a_receiver_that_is_not_there_is_noted(github_world: LocalGitHub, place: Place) -> None:
    await github_world.connect_webhook("http://127.0.0.1:9/webhook")
    await github_world.comment(place.repository, place.issue, "alice", "hello")
    assert [delivery.status for delivery in github_world.deliveries] == [None]


# Waiting.


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


# Git.


async def git(folder: Path, *arguments: str) -> tuple[int, str]:
    """Git as the demo's user has it, without any configuration."""
    process = await asyncio.create_subprocess_exec(
        "git",
        *arguments,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def header(token: str, user: str = "x-access-token") -> str:
    return "http.extraHeader=Authorization: Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()


FILES: dict[str | bytes, bytes | File] = {
    "README.md": b"# Hello\n",
    "bin/run": File(b"#!/bin/sh\n", "100755"),
    "link": File(b"README.md", "120000"),
    'odd "name"\n': b"odd\n",
    b"latin-\xe9": b"\xff\x00binary\n",
}


@pytest.fixture
def repository(github_world: LocalGitHub) -> Repository:
    return github_world.add_repository("octo", "files", FILES)


async def test_a_public_repository_is_cloned_without_a_token(
    github_world: LocalGitHub, repository: Repository, tmp_path: Path
) -> None:
    code, output = await git(tmp_path, "clone", "--depth", "1", github_world.clone_url("octo", "files"), "to")
    assert code == 0, output
    clone = tmp_path / "to"
    assert (clone / "README.md").read_bytes() == b"# Hello\n"
    assert os.access(clone / "bin/run", os.X_OK)
    assert (clone / "link").readlink() == Path("README.md")
    assert (clone / 'odd "name"\n').read_bytes() == b"odd\n"
    assert (clone / os.fsdecode(b"latin-\xe9")).read_bytes() == b"\xff\x00binary\n"
    assert (await git(clone, "rev-parse", "HEAD"))[1].strip() == github_world.head(repository)


async def test_a10_an_old_commit_can_be_fetched_by_its_id_after_the_branch_has_moved(
    github_world: LocalGitHub, repository: Repository, tmp_path: Path
) -> None:
    old = github_world.head(repository)
    new = github_world.commit(repository, {"README.md": b"# Moved\n"})
    assert old is not None
    assert old != new == github_world.head(repository)
    await git(tmp_path, "init", "-q", "to")
    url = github_world.clone_url("octo", "files")
    code, output = await git(tmp_path / "to", "fetch", "--depth", "1", "--filter=blob:none", url, old)
    assert code == 0, output
    assert (await git(tmp_path / "to", "rev-parse", "FETCH_HEAD"))[1].strip() == old


async def test_the_same_files_give_the_same_commit(github_world: LocalGitHub, repository: Repository) -> None:
    again = github_world.add_repository("octo", "again", FILES)
    assert github_world.head(again) == github_world.head(repository)


async def test_a_private_repository_needs_a_token_for_its_contents(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place, tmp_path: Path
) -> None:
    secret = Place(github_world, name="secret", private=True)
    url = github_world.clone_url("octo", "secret")
    good = await token_for(github_world, fake_time, secret, {"contents": "read"})
    tries = {
        "anonymous": [],
        "other": ["-c", header(await token_for(github_world, fake_time, place, {"contents": "read"}))],
        "issues": ["-c", header(await token_for(github_world, fake_time, secret, {"issues": "write"}))],
        "user": ["-c", header(good, "octo")],
        "bearer": ["-c", f"http.extraHeader=Authorization: Bearer {good}"],
        "nonsense": ["-c", "http.extraHeader=Authorization: Basic ???"],
    }
    for name, options in tries.items():
        code, output = await git(tmp_path, *options, "clone", url, name)
        assert code != 0, name
        assert not (tmp_path / name).exists(), output
    code, output = await git(tmp_path, "-c", header(good), "clone", url, "to")
    assert code == 0, output
    fake_time.advance(minutes=61)
    assert (await git(tmp_path, "-c", header(good), "clone", url, "late"))[0] != 0


async def test_a_push_is_refused(github_world: LocalGitHub, fake_time: FakeTime, place: Place, tmp_path: Path) -> None:
    token = await token_for(github_world, fake_time, place, {"contents": "read"})
    before = github_world.head(place.repository)
    await git(tmp_path, "clone", github_world.clone_url("octo", "hello"), "to")
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    await git(tmp_path / "to", *identity, "commit", "--allow-empty", "-m", "mine")
    for options in ([], ["-c", header(token)]):
        code, _ = await git(tmp_path / "to", *options, "push", "origin", "HEAD")
        assert code != 0
    assert github_world.head(place.repository) == before


async def test_a_large_clone_is_streamed(github_world: LocalGitHub, tmp_path: Path) -> None:
    content = os.urandom(8 * 2**20)
    github_world.add_repository("octo", "large", {"blob": content})
    code, output = await git(tmp_path, "clone", github_world.clone_url("octo", "large"), "to")
    assert code == 0, output
    assert (tmp_path / "to/blob").read_bytes() == content


async def test_a_clone_that_is_broken_off_leaves_no_process(github_world: LocalGitHub, repository: Repository) -> None:
    async with aiohttp.ClientSession() as session:
        url = github_world.clone_url("octo", "files") + "/git-upload-pack"
        headers = {"Content-Type": "application/x-git-upload-pack-request"}

        async def endless() -> Any:
            yield b"0011command=fetch"
            await asyncio.Event().wait()

        request = spawn(session.post(url, data=endless(), headers=headers).__aenter__(), name="endless")
        await github_world.until(lambda: any(e.operation == "git/git-upload-pack" for e in github_world.log))
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
    async with asyncio.timeout(5):
        await github_world.stop()


async def test_git_failures_can_be_scripted(github_world: LocalGitHub, place: Place, tmp_path: Path) -> None:
    github_world.fail(Failure("git/git-upload-pack", 503))
    url = github_world.clone_url("octo", "hello")
    assert (await git(tmp_path, "clone", url, "to"))[0] != 0
    assert (await git(tmp_path, "clone", url, "to"))[0] == 0


async def test_the_clone_url_is_the_public_hosts(tmp_path: Path) -> None:
    server = LocalGitHub(tmp_path)
    await server.start(public_host="host.docker.internal")
    port = server.url.rpartition(":")[2]
    assert server.clone_url("o", "r") == f"http://host.docker.internal:{port}/o/r.git"
    assert server.url == f"http://127.0.0.1:{port}"
    await server.stop()


async def test_it_listens_on_a_second_address_too(tmp_path: Path) -> None:
    server = LocalGitHub(tmp_path)
    await server.start(also=("127.0.0.2",))
    server.add_repository("octo", "hello", {"a": b"a"})
    url = server.clone_url("octo", "hello").replace("127.0.0.1", "127.0.0.2")
    assert (await git(tmp_path, "clone", url, "to"))[0] == 0
    await server.stop()
    await server.stop()
