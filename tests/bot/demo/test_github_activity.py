"""What moves a branch of the local GitHub is kept, whoever does it, and listed as GitHub lists it."""

from __future__ import annotations

from typing import Any

from bot.demo.github import Issue, LocalGitHub
from bot.demo.github_activity import NOTHING
from tests.bot.demo.bare import ask
from tests.github_world import FakeTime, Place

REPO = "/repos/octo/hello"


async def listed(server: LocalGitHub, token: str, query: str) -> list[Any]:
    status, answer, _ = await ask(server, "GET", f"{REPO}/activity?{query}", bearer=token)
    assert status == 200
    return list(answer)


def kinds(found: list[Any]) -> list[str]:
    return [one["activity_type"] for one in found]


async def test_what_people_do(github_world: LocalGitHub, place: Place, pull: Issue, token: str) -> None:
    assert pull.pull is not None
    first, base = pull.pull.sha, github_world.head(place.repository)
    second = await github_world.push(place.repository, pull, {"README.md": b"more\n"}, user="mona")
    await github_world.close(place.repository, pull, merge=True)
    github_world.delete_branch(place.repository, "topic")
    found = await listed(github_world, token, "ref=refs/heads/topic&direction=asc")
    assert kinds(found) == ["branch_creation", "push", "branch_deletion"]
    assert [(one["before"], one["after"]) for one in found] == [(NOTHING, first), (first, second), (second, NOTHING)]
    assert [one["actor"]["login"] for one in found] == ["alice", "mona", "octo"]
    merged, made = await listed(github_world, token, "ref=main")
    assert (kinds([merged, made]), merged["before"]) == (["pr_merge", "branch_creation"], base)
    assert merged["after"] == github_world.head(place.repository)


async def test_what_the_app_does(github_world: LocalGitHub, place: Place, pull: Issue, token: str) -> None:
    assert pull.pull is not None
    old, new = github_world.head(place.repository), pull.pull.sha

    async def do(method: str, path: str, body: Any = None) -> None:
        assert (await ask(github_world, method, f"{REPO}/git/{path}", bearer=token, body=body))[0] in {200, 201, 204}

    await do("POST", "refs", {"ref": "refs/heads/x/y", "sha": old})
    await do("PATCH", "refs/heads/x/y", {"sha": new})
    await do("PATCH", "refs/heads/x/y", {"sha": new})
    await do("PATCH", "refs/heads/x/y", {"sha": old, "force": True})
    await do("DELETE", "refs/heads/x/y")
    await do("POST", "refs", {"ref": "refs/tags/v1", "sha": old})
    found = await listed(github_world, token, "ref=refs/heads/x/y")
    assert kinds(found) == ["branch_deletion", "force_push", "push", "branch_creation"]
    assert {one["actor"]["login"] for one in found} == {github_world.app.user.login}
    assert {one["ref"] for one in await listed(github_world, token, "")} == {
        "refs/heads/main", "refs/heads/topic", "refs/heads/x/y",
    }  # fmt: skip


async def test_pages_and_filters(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place, pull: Issue, token: str
) -> None:
    fake_time.advance(days=2)
    token_of_then = github_world.state.tokens[token]
    token_of_then.expires_at = fake_time.now.replace(year=fake_time.now.year + 1)
    await github_world.push(place.repository, pull, {"README.md": b"more\n"}, user="mona")
    _, page, headers = await ask(github_world, "GET", f"{REPO}/activity?ref=topic&per_page=1", bearer=token)
    assert kinds(page) == ["push"]
    rest = headers["Link"].partition(">")[0].removeprefix(f"<{github_world.url}")
    assert kinds((await ask(github_world, "GET", rest, bearer=token))[1]) == ["branch_creation"]
    assert kinds(await listed(github_world, token, "time_period=day")) == ["push"]
    assert kinds(await listed(github_world, token, "actor=alice")) == ["branch_creation"]
    assert len(await listed(github_world, token, "activity_type=branch_creation")) == 2
