"""Labels, checks and deliveries: what is not there, pages, and who may."""

from __future__ import annotations

from bot.demo.github import LocalGitHub
from tests.bot.demo.bare import as_app, ask, token_for
from tests.github_world import FakeTime, Place

REPO = "/repos/octo/hello"


async def test_a_label_that_is_not_there_cannot_be_taken_off(
    github_world: LocalGitHub, place: Place, token: str
) -> None:
    status, answer, _ = await ask(github_world, "DELETE", f"{REPO}/issues/1/labels/agent", bearer=token)
    assert (status, answer["message"]) == (404, "Label does not exist")


async def test_checks_need_their_own_permission(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place, token: str
) -> None:
    body = {"name": "gofer", "head_sha": github_world.head(place.repository)}
    assert (await ask(github_world, "POST", f"{REPO}/check-runs", bearer=token, body=body))[0] == 201
    weak = await token_for(github_world, fake_time, place, {"issues": "write"})
    assert (await ask(github_world, "POST", f"{REPO}/check-runs", bearer=weak, body=body))[0] == 403
    assert (await ask(github_world, "PATCH", f"{REPO}/check-runs/1", bearer=token, body={}))[0] == 404


async def test_deliveries_come_in_pages_newest_first(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    await github_world.connect_webhook("http://127.0.0.1:9/nobody")
    for number in range(3):
        await github_world.comment(place.repository, place.issue, "alice", f"{number}")
    jwt = as_app(github_world, fake_time)
    _, first, headers = await ask(github_world, "GET", "/app/hook/deliveries?per_page=2", bearer=jwt)
    assert [one["guid"] for one in first] == [one.id for one in reversed(github_world.deliveries[1:])]
    cursor = headers["Link"].partition("cursor=")[2].partition(">")[0]
    path = f"/app/hook/deliveries?per_page=2&cursor={cursor}"
    _, second, headers = await ask(github_world, "GET", path, bearer=jwt)
    assert [one["guid"] for one in second] == [github_world.deliveries[0].id]
    assert "Link" not in headers
    assert (await ask(github_world, "POST", "/app/hook/deliveries/1/attempts", bearer=jwt))[0] == 404


async def test_threads_are_listed_by_state_time_and_change(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place, token: str
) -> None:
    first = place.issue
    fake_time.advance(minutes=1)
    closed, pull = github_world.add_issue(place.repository), await github_world.open_pull(place.repository, {"f": b""})
    closed.closed = True
    gone = github_world.add_issue(place.repository)
    gone.deleted = True

    async def listed(query: str) -> list[int]:
        status, answer, _ = await ask(github_world, "GET", f"{REPO}/issues{query}", bearer=token)
        assert status == 200
        return [one["number"] for one in answer]

    assert await listed("") == [pull.number, first.number]
    assert await listed("?state=closed") == [closed.number]
    assert await listed("?state=all&direction=asc") == [first.number, closed.number, pull.number]
    fake_time.advance(minutes=1)
    since = fake_time.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    await github_world.label(place.repository, first, "agent", "alice")
    assert await listed("?sort=updated") == [first.number, pull.number]
    assert await listed(f"?since={since}") == [first.number]
    fake_time.advance(minutes=1)
    await github_world.push(place.repository, pull, {"f": b"more\n"})
    assert await listed("?sort=updated") == [pull.number, first.number]


async def test_a_label_leaves_an_event_when_it_is_put_on_and_when_it_is_taken_off(
    github_world: LocalGitHub, place: Place, token: str
) -> None:
    await github_world.label(place.repository, place.issue, "bug", "alice")
    await ask(github_world, "POST", f"{REPO}/issues/1/labels", bearer=token, body={"labels": ["agent"]})
    await ask(github_world, "DELETE", f"{REPO}/issues/1/labels/bug", bearer=token)
    status, events, _ = await ask(github_world, "GET", f"{REPO}/issues/1/events", bearer=token)
    assert status == 200
    told = [(one["event"], one["label"]["name"], one["actor"]["login"]) for one in events]
    bot = github_world.app.user.login
    assert told == [("labeled", "bug", "alice"), ("labeled", "agent", bot), ("unlabeled", "bug", bot)]
