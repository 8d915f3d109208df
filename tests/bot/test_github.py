"""The client against the local GitHub: what is there, and tokens for others."""

from __future__ import annotations

import logging

import pytest

from bot.demo.github import Failure, LocalGitHub
from bot.demo.github_auth import new_key
from bot.github import GitHub, GitHubRefused, GitHubUnavailable
from tests.github_world import FakeTime, Place, client_of

MARK = "<!-- gofer:7:status -->"
CREATE = "issues/create-comment"


async def test_the_app_knows_its_own_name(github_client: GitHub, github_world: LocalGitHub) -> None:
    app = await github_client.app()
    assert (app.id, app.login) == (github_world.app.id, "gofer-local[bot]")
    assert app.permissions["issues"] == "write"


async def test_a_key_of_another_app_is_refused_in_githubs_words(github_world: LocalGitHub, fake_time: FakeTime) -> None:
    _, foreign = new_key()
    async with client_of(github_world, fake_time, private_key=foreign) as client:
        with pytest.raises(GitHubRefused, match="could not be decoded"):
            await client.app()
    assert len(github_world.log) == 1  # the same key again would bring the same answer


@pytest.mark.parametrize("role", ["admin", "maintain", "write", "triage", "read", "none"])
async def test_each_role_is_told_apart(
    role: str, github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.set_role(place.repository, "alice", role)
    assert await github_client.collaborator_permission(place.where, "alice") == role
    assert await github_client.collaborator_permission(place.where, "ALICE") == role


async def test_a_custom_role_counts_as_its_level(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.set_role(place.repository, "alice", "release-manager")
    assert await github_client.collaborator_permission(place.where, "alice") == "write"


async def test_nobody_and_somebody_elses_login_have_no_role(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.set_role(place.repository, "alice", "admin")
    alice = github_world.add_user("alice")
    assert await github_client.collaborator_permission(place.where, "nobody-here") == "none"
    assert await github_client.collaborator_permission(place.where, "alice", alice.id) == "admin"
    assert await github_client.collaborator_permission(place.where, "alice", alice.id + 1) == "none"


async def test_b67_the_default_branch_is_read_at_run_time(github_client: GitHub, github_world: LocalGitHub) -> None:
    repository = github_world.add_repository("octo", "tree", {"a": b"a"}, default_branch="trunk")
    where = Place(github_world).where.model_copy(update={"name": "tree", "repository_id": repository.id})
    assert (await github_client.repository(where)).default_branch == "trunk"
    repository.default_branch = "stem"  # renamed while the task runs
    assert (await github_client.repository(where)).default_branch == "stem"


async def test_a_renamed_repository_is_found_under_its_old_name_for_reading_and_writing(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.rename(place.repository, "goodbye")
    info = await github_client.repository(place.where)
    assert (info.id, info.name) == (place.repository.id, "goodbye")
    comment_id = await github_client.create_comment(place.where, 1, f"hi {MARK}", MARK)
    await github_client.edit_comment(place.where, comment_id, f"there {MARK}")
    assert [c.history for c in place.issue.comments] == [[f"hi {MARK}", f"there {MARK}"]]


async def test_another_repository_under_the_old_name_is_not_taken_for_it(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    place.repository.name = "goodbye"
    github_world.add_repository("octo", "hello", {}, installed=False)
    with pytest.raises(GitHubRefused, match="another repository"):
        await github_client.repository(place.where)
    with pytest.raises(GitHubRefused):
        await github_client.create_comment(place.where, 1, f"hi {MARK}", MARK)


async def test_a_transferred_issue_is_not_followed_to_another_repository(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    other = Place(github_world, name="other")
    place.issue.moved_to = f"{github_world.url}/repositories/{other.repository.id}/issues/1"
    with pytest.raises(GitHubRefused, match=r"30[17]"):
        await github_client.create_comment(place.where, 1, f"hi {MARK}", MARK)
    assert other.issue.comments == []


async def test_whether_the_installation_serves_the_repository_is_githubs_word(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    stranger = github_world.add_repository("eve", "trap", {}, installed=False)
    assert await github_client.serves(place.where)
    assert not await github_client.serves(place.where.model_copy(update={"repository_id": stranger.id}))
    assert not await github_client.serves(place.where.model_copy(update={"installation_id": 99}))


async def test_a_suspended_installation_serves_nothing(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    installation = github_world.state.installation_of(place.repository)
    assert installation is not None
    installation.suspended = True
    assert not await github_client.serves(place.where)


async def test_being_unable_to_ask_is_not_a_no(github_client: GitHub, github_world: LocalGitHub, place: Place) -> None:
    github_world.fail(Failure("apps/create-installation-access-token", 503, times=None))
    with pytest.raises(GitHubUnavailable):
        await github_client.serves(place.where)


async def test_b79_revoking_a_token_that_has_ended_is_no_failure(
    github_client: GitHub,
    github_world: LocalGitHub,
    fake_time: FakeTime,
    place: Place,
    caplog: pytest.LogCaptureFixture,
) -> None:
    token = await github_client.fetch_token(place.where)
    fake_time.advance(minutes=61)
    with caplog.at_level(logging.WARNING):
        await github_client.revoke(token)
    assert caplog.text == ""


async def test_a_token_is_revoked_when_done_and_github_down_does_not_matter(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    token = await github_client.fetch_token(place.where)
    await github_client.revoke(token)
    await github_client.revoke(token)
    assert github_world.state.tokens[token.token.get_secret_value()].revoked
    other = await github_client.fetch_token(place.where)
    github_world.fail(Failure("apps/revoke-installation-access-token", 503, times=None))
    await github_client.revoke(other)


async def test_closing_revokes_what_is_kept(github_client: GitHub, github_world: LocalGitHub, place: Place) -> None:
    await github_client.repository(place.where)
    await github_client.create_comment(place.where, 1, f"hi {MARK}", MARK)
    await github_client.close()
    assert [token.revoked for token in github_world.state.tokens.values()] == [True, True]


async def test_a_refusal_of_our_own_credentials_is_not_a_no_about_the_repository(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.fail(Failure("apps/create-installation-access-token", 401, times=None))
    with pytest.raises(GitHubUnavailable, match="own credentials"):
        await github_client.serves(place.where)
