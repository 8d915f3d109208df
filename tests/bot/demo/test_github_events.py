"""Webhook bodies have the fields of GitHub's own, by its REST description of the same objects."""

from __future__ import annotations

import json

from bot.demo.github import LocalGitHub
from tests.github_world import Place
from tests.openapi.conform import description, misfits


async def test_the_objects_inside_are_those_of_the_api(github_world: LocalGitHub, place: Place) -> None:
    github_world.app.events = ("pull_request", "pull_request_review", "pull_request_review_comment", "issues")
    await github_world.connect_webhook("http://127.0.0.1:9/nobody")
    pull = await github_world.open_pull(place.repository, {"README.md": b"x\n"})
    await github_world.review(place.repository, pull, "bob", comments=[("README.md", 1, "why")])
    await github_world.label(place.repository, place.issue, "agent", "bob")
    kinds = {
        "pull_request": ("pull_request", "pull-request"),
        "pull_request_review": ("review", "pull-request-review"),
        "pull_request_review_comment": ("comment", "pull-request-review-comment"),
        "issues": ("issue", "issue"),
    }
    assert {delivery.event for delivery in github_world.deliveries} == set(kinds)
    for delivery in github_world.deliveries:
        key, schema = kinds[delivery.event]
        assert list(misfits(description()["components"]["schemas"][schema], json.loads(delivery.body)[key], key)) == []


async def test_an_outdated_comment_has_null_for_its_line(github_world: LocalGitHub, place: Place) -> None:
    github_world.app.events = ("pull_request_review_comment",)
    await github_world.connect_webhook("http://127.0.0.1:9/nobody")
    pull = await github_world.open_pull(place.repository, {"README.md": b"x\n"})
    comment = await github_world.review_comment(place.repository, pull, "bob", "why")
    comment.line = None
    answer = await github_world.review_comment(place.repository, pull, "bob", "again", reply_to=comment)
    assert answer.in_reply_to == comment.id
    assert json.loads(github_world.deliveries[-1].body)["comment"]["in_reply_to_id"] == comment.id
