"""Webhooks of the local GitHub look and are sent like GitHub's."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bot.demo.github import Comment, LocalGitHub
from tests.bot.demo.bare import ask, token_for
from tests.github_world import FakeTime, Place
from tests.openapi import conform


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
