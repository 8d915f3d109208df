"""What people do is told to the App, and what the App does comes back to it."""

from __future__ import annotations

import json
from typing import Any

from bot.demo.github import Issue, LocalGitHub
from tests.bot.demo.bare import ask
from tests.github_world import Place

EVENTS = (
    "issue_comment", "issues", "pull_request", "pull_request_review", "pull_request_review_comment", "check_run",
    "repository",
)  # fmt: skip


async def heard(server: LocalGitHub) -> list[tuple[str, str]]:
    """The webhooks so far. Nobody listens, so each is answered by nothing at once."""
    return [(delivery.event, delivery.action) for delivery in server.deliveries]


async def listening(server: LocalGitHub) -> None:
    server.app.events = EVENTS
    await server.connect_webhook("http://127.0.0.1:9/nobody")


def body(server: LocalGitHub, event: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(next(one.body for one in reversed(server.deliveries) if one.event == event))
    return found


async def test_the_life_of_a_pull_request_is_told(github_world: LocalGitHub, place: Place) -> None:
    await listening(github_world)
    repository = place.repository
    pull = await github_world.open_pull(repository, {"README.md": b"x\n"}, user="alice")
    await github_world.review(repository, pull, "bob", body="no", comments=[("README.md", 1, "why")])
    before = pull.pull and pull.pull.sha
    after = await github_world.push(repository, pull, {"README.md": b"y\n"})
    assert body(github_world, "pull_request")["before"] == before
    assert body(github_world, "pull_request")["after"] == after
    await github_world.label(repository, pull, "agent", "bob")
    assert body(github_world, "pull_request")["label"]["name"] == "agent"
    await github_world.close(repository, pull, merge=True)
    assert body(github_world, "pull_request")["pull_request"]["merged"] is True
    assert github_world.head(repository) == (pull.pull and pull.pull.merge_commit)
    assert await heard(github_world) == [
        ("pull_request", "opened"),
        ("pull_request_review_comment", "created"),
        ("pull_request_review", "submitted"),
        ("pull_request", "synchronize"),
        ("pull_request", "labeled"),
        ("pull_request", "closed"),
    ]


async def test_what_the_app_does_comes_back_to_it(
    github_world: LocalGitHub, place: Place, pull: Issue, token: str
) -> None:
    await listening(github_world)
    repo = "/repos/octo/hello"
    await ask(github_world, "POST", f"{repo}/issues/1/labels", bearer=token, body={"labels": ["agent"]})
    base = github_world.head(place.repository) or ""
    commit = (await ask(github_world, "GET", f"{repo}/git/commits/{pull.pull and pull.pull.sha}", bearer=token))[1]
    parents = [pull.pull and pull.pull.sha]
    made = await ask(
        github_world, "POST", f"{repo}/git/commits", bearer=token,
        body={"message": "m", "tree": commit["tree"]["sha"], "parents": parents},
    )  # fmt: skip
    await ask(
        github_world,
        "PATCH",
        f"{repo}/git/refs/heads/topic",
        bearer=token,
        body={"sha": made[1]["sha"], "force": False},
    )
    await github_world.until(lambda: len(github_world.deliveries) == 2)
    assert sorted(await heard(github_world)) == [("issues", "labeled"), ("pull_request", "synchronize")]
    assert base == github_world.head(place.repository)


async def test_locks_checks_and_the_ends_of_repositories_are_told(
    github_world: LocalGitHub, place: Place, token: str
) -> None:
    await listening(github_world)
    repository = place.repository
    await github_world.lock(repository, place.issue)
    await github_world.change_repository(repository, "publicized")
    check = {"name": "gofer", "head_sha": github_world.head(repository)}
    await ask(github_world, "POST", "/repos/octo/hello/check-runs", bearer=token, body=check)
    await github_world.rerequest(repository, repository.checks[0], "alice")
    await github_world.press(repository, repository.checks[0], "cancel", "alice")
    assert body(github_world, "check_run")["requested_action"] == {"identifier": "cancel"}
    installation = github_world.state.installation_of(repository)
    assert installation is not None
    await github_world.change_installation(installation, "suspend")
    await github_world.take_out(repository)
    await github_world.change_installation(installation, "deleted")
    assert await heard(github_world) == [
        ("issues", "locked"),
        ("repository", "publicized"),
        ("check_run", "rerequested"),
        ("check_run", "requested_action"),
        ("installation", "suspend"),
        ("installation_repositories", "removed"),
        ("installation", "deleted"),
    ]


async def test_an_event_that_the_app_has_not_asked_for_is_not_sent(github_world: LocalGitHub, place: Place) -> None:
    await listening(github_world)
    github_world.app.events = ("issue_comment",)
    await github_world.lock(place.repository, place.issue)
    assert await heard(github_world) == []


async def test_a_transferred_issue_answers_with_where_it_is(
    github_world: LocalGitHub, place: Place, token: str
) -> None:
    other = github_world.add_repository("octo", "other", {})
    there = await github_world.transfer(place.repository, place.issue, other)
    status, _, headers = await ask(github_world, "GET", f"/repos/octo/hello/issues/{place.issue.number}", bearer=token)
    assert (status, headers["Location"]) == (301, f"{github_world.url}/repositories/{other.id}/issues/{there.number}")
