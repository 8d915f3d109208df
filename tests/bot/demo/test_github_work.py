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
