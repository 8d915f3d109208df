from __future__ import annotations

import pytest

from bot.demo.github import LocalGitHub
from bot.github import GitHub, GitHubRefused
from bot.tasks import Actor
from tests.bot.conversing import talk
from tests.github_world import FakeTime, Place


async def test_an_issue_is_read_with_who_said_what_and_when_it_was_changed(
    github_world: LocalGitHub, github_client: GitHub, fake_time: FakeTime, place: Place
) -> None:
    await talk(github_world, place)
    place.issue.body, place.issue.title = "It fails.", "Fails"
    first = await github_world.comment(place.repository, place.issue, "alice", "on Mondays")
    fake_time.advance(minutes=5)
    await github_world.edit(place.repository, place.issue, first, "on Tuesdays")
    second = await github_world.comment(place.repository, place.issue, "mallory", "not here")
    second.minimised = "SPAM"
    thread = await github_client.threads.read(place.where, place.issue.number, is_pull_request=False)
    found = [(one.kind, one.body, one.author and one.author.login, one.minimised) for one in thread.said]
    assert found == [
        ("title", "Fails", "octo", False),
        ("body", "It fails.", "octo", False),
        ("comment", "on Tuesdays", "alice", False),
        ("comment", "not here", "mallory", True),
    ]
    assert [one.edited_at is not None for one in thread.said] == [False, False, True, False]
    assert (thread.title, thread.state, thread.locked, thread.head) == ("Fails", "open", False, None)


async def test_a_pull_request_is_read_with_its_head_reviews_and_resolved_threads(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    t = await talk(github_world, place)
    await github_world.review(
        place.repository, t.issue, "bob", body="Not yet", comments=[("README.md", 1, "one"), ("README.md", 2, "two")]
    )
    roots = t.pull.comments[:2]
    await github_world.review_comment(place.repository, t.issue, "alice", "done", reply_to=roots[0])
    github_world.resolve(t.issue, roots[0])
    roots[1].line = None
    thread = await github_client.threads.read(place.where, t.issue.number, is_pull_request=True)
    lines = [one for one in thread.said if one.kind == "review_comment"]
    assert [(one.body, one.resolved, one.outdated) for one in lines] == [
        ("one", True, False),
        ("two", False, True),
        ("done", True, False),
    ]
    assert {one.anchor.root_id for one in lines if one.anchor} == {one.id for one in roots}
    assert [one.body for one in thread.said if one.kind == "review"] == ["Not yet"]
    assert thread.head is not None
    assert (thread.head.sha, thread.head.ref, thread.head.base_ref) == (t.pull.sha, "topic", "main")
    assert not thread.from_fork(place.repository.id)


async def test_b85_a_deleted_account_has_no_author(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    t = await talk(github_world, place)
    pull = await github_client.threads.pull(place.where, t.issue.number)
    assert (pull.state, pull.merged, pull.by_us) == ("open", False, False)
    assert pull.head.author is not None
    assert pull.head.author.login == "alice"


async def test_only_people_with_the_role_are_writers(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    actors = []
    for login, role in (("w", "write"), ("m", "maintain"), ("t", "triage"), ("c", "custom-role"), ("r", "read")):
        github_world.set_role(place.repository, login, role)
        user = github_world.add_user(login)
        actors.append(Actor(id=user.id, login=login, type="User"))
    bot = Actor(id=1, login="w", type="Bot")
    swapped = Actor(id=99, login="w", type="User")  # the login is somebody else's by now
    found = await github_client.writers(place.where, [*actors, bot, swapped])
    assert found == {actors[0].id, actors[1].id, actors[3].id}


async def test_a_thread_that_is_gone_is_told(github_client: GitHub, place: Place) -> None:
    with pytest.raises(GitHubRefused, match="404"):
        await github_client.threads.read(place.where, 99, is_pull_request=False)
