"""The client against the local GitHub: what it asks, and how it takes GitHub's failures."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.github import Comment, Failure, LocalGitHub
from bot.demo.github_auth import new_key
from bot.demo.github_failures import primary_limit, secondary_limit
from bot.github import GitHub, GitHubRefused, GitHubUnavailable, RetryLimits
from bot.github import role as role_for
from sandbox import spawn
from tests.github_world import START, FakeTime, Place, client_of, local_github

MARK = "<!-- gofer:7:status -->"
CREATE = "issues/create-comment"


def sent(server: LocalGitHub, operation: str) -> int:
    return sum(exchange.operation == operation for exchange in server.log)


# What is there.


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


@pytest.mark.parametrize(
    ("permission", "name", "expected"),
    [
        ("read", "admin", "read"),  # a custom role that borrows a name
        ("write", "admin", "write"),
        ("read", "maintain", "read"),
        ("write", "", "write"),
        ("godlike", "godlike", "none"),
        ("", "", "none"),
    ],
)
def test_a_role_never_counts_for_more_than_its_level(permission: str, name: str, expected: str) -> None:
    assert role_for(permission, name) == expected


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


# What we write.


async def test_reacting_twice_leaves_one_reaction(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    comment = await github_world.comment(place.repository, place.issue, "octo", "/agent do it")
    await github_client.react(place.where, comment.id, "eyes")
    await github_client.react(place.where, comment.id, "eyes")
    assert [reaction.content for reaction in comment.reactions] == ["eyes"]


async def test_reacting_to_a_deleted_comment_is_refused(github_client: GitHub, place: Place) -> None:
    with pytest.raises(GitHubRefused, match="404"):
        await github_client.react(place.where, 12345, "eyes")


async def test_o13_creating_again_after_a_crash_posts_no_second_copy(
    github_client: GitHub, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    first = await github_client.create_comment(place.where, 1, f"one {MARK}", MARK)
    async with client_of(github_world, fake_time) as after_kill:  # knows nothing of the first
        assert await after_kill.create_comment(place.where, 1, f"two {MARK}", MARK) == first
    assert [comment.body for comment in place.issue.comments] == [f"one {MARK}"]


async def test_o13_two_at_the_same_moment_post_one_comment(github_client: GitHub, place: Place) -> None:
    create = github_client.create_comment
    ids = await asyncio.gather(
        *(spawn(create(place.where, 1, f"n {MARK}", MARK), name=f"create-{n}") for n in range(8))
    )
    assert len(set(ids)) == 1
    assert len(place.issue.comments) == 1


async def test_a_comment_of_somebody_else_with_our_marker_is_not_ours(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    forged = await github_world.comment(place.repository, place.issue, "eve", f"fake result {MARK}")
    bot = github_world.add_user("other-app[bot]", "Bot")
    place.issue.comments.append(Comment(1, MARK, bot, START, START, history=[MARK]))
    # A person who acts through our App's user token: the App is noted, but it is not the App that speaks.
    person = github_world.add_user("eve")
    place.issue.comments.append(Comment(2, MARK, person, START, START, by_app=True, history=[MARK]))
    assert await github_client.find_comment(place.where, 1, MARK) is None
    made = await github_client.create_comment(place.where, 1, f"real {MARK}", MARK)
    assert made not in {1, 2, forged.id}


async def test_our_comment_is_found_on_a_later_page(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    for number in range(61):
        await github_world.comment(place.repository, place.issue, "octo", f"chatter {number}")
    made = await github_client.create_comment(place.where, 1, f"real {MARK}", MARK)
    assert await github_client.find_comment(place.where, 1, MARK) == made


async def test_since_spares_the_pages_before(
    github_client: GitHub, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    for number in range(61):
        await github_world.comment(place.repository, place.issue, "octo", f"chatter {number}")
    fake_time.advance(hours=2)
    since = fake_time() - timedelta(minutes=1)
    made = await github_client.create_comment(place.where, 1, f"real {MARK}", MARK, since=since)
    assert await github_client.find_comment(place.where, 1, MARK, since=since) == made
    assert sent(github_world, "issues/list-comments") == 2


async def test_a_comment_without_its_marker_is_never_posted(github_client: GitHub, place: Place) -> None:
    for marker in ("", MARK):
        with pytest.raises(ValueError, match="marker"):
            await github_client.create_comment(place.where, 1, "no marker", marker)


async def test_writing_on_a_pull_request_asks_for_that_permission(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.add_issue(place.repository, pull_request=True)
    with pytest.raises(GitHubRefused, match="not accessible"):
        await github_client.create_comment(place.where, 2, f"hi {MARK}", MARK)
    await github_client.create_comment(place.where, 2, f"hi {MARK}", MARK, pull_request=True)


async def test_lone_surrogates_and_emoji_do_not_break_a_comment(github_client: GitHub, place: Place) -> None:
    await github_client.create_comment(place.where, 1, f"\ud83d 😀 \x00 {MARK}", MARK)
    assert len(place.issue.comments) == 1


# Failures.


async def test_b82_a_502_after_storing_makes_no_second_copy(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.fail(Failure(CREATE, 502, times=2, after_effect=True))
    made = await github_client.create_comment(place.where, 1, f"result {MARK}", MARK)
    assert [comment.id for comment in place.issue.comments] == [made]
    assert sent(github_world, CREATE) == 1


@pytest.mark.parametrize("hang", [True, False])
async def test_b82_a_connection_lost_after_storing_makes_no_second_copy(
    hang: bool, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    github_world.fail(Failure(CREATE, hang=hang, drop=not hang, after_effect=True))
    async with client_of(github_world, fake_time, call_seconds=0.3) as client:
        made = await client.create_comment(place.where, 1, f"result {MARK}", MARK)
    assert [comment.id for comment in place.issue.comments] == [made]


async def test_b82_a_502_before_storing_is_posted_again(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.fail(Failure(CREATE, 502, times=2))
    await github_client.create_comment(place.where, 1, f"result {MARK}", MARK)
    assert len(place.issue.comments) == 1
    assert sent(github_world, CREATE) == 3


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        (secondary_limit(CREATE, retry_after=60), 60),
        (secondary_limit(CREATE, retry_after=60, status=429), 60),
        (secondary_limit(CREATE), 60),
        (primary_limit(CREATE, int(START.timestamp()) + 50), 50),
        (primary_limit(CREATE, int(START.timestamp()) + 50, status=429), 50),
    ],
)
async def test_b80_a_rate_limit_is_waited_out_and_nothing_is_lost(
    failure: Failure, seconds: float, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    failure = replace(failure, hits=0)
    github_world.fail(failure)
    async with client_of(github_world, fake_time) as client:
        await client.create_comment(place.where, 1, f"result {MARK}", MARK)
    assert len(place.issue.comments) == 1
    assert seconds <= sum(fake_time.slept) <= seconds + 3


async def test_b80_while_limited_nobody_of_the_installation_calls(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    github_world.fail(secondary_limit("repos/get", retry_after=600))
    elsewhere = Place(github_world, owner="umbrella")
    async with client_of(github_world, fake_time) as client:
        with pytest.raises(GitHubUnavailable) as caught:
            await client.repository(place.where)
        assert 600 <= caught.value.retry_after_seconds <= 602
        before = len(github_world.log)
        with pytest.raises(GitHubUnavailable) as caught:
            await client.create_comment(place.where, 1, f"hi {MARK}", MARK)
        assert len(github_world.log) == before
        assert 590 <= caught.value.retry_after_seconds <= 602
        await client.repository(elsewhere.where)  # another tenant is not held up
        fake_time.advance(seconds=caught.value.retry_after_seconds)
        await client.create_comment(place.where, 1, f"hi {MARK}", MARK)
    assert len(place.issue.comments) == 1


async def test_b80_a_burst_of_writes_is_spaced(github_world: LocalGitHub, fake_time: FakeTime, place: Place) -> None:
    async with client_of(github_world, fake_time, write_spacing_seconds=1.0) as client:
        for number in range(10):
            marker = f"<!-- {number} -->"
            await client.create_comment(place.where, 1, f"n {marker}", marker)
    # The loop's own clock hardly moves here, so each write after the burst of four waits a second more.
    assert [round(seconds) for seconds in fake_time.slept] == [1, 2, 3, 4, 5, 6]


async def test_b83_github_down_for_two_minutes_keeps_the_result_for_later(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    end = fake_time() + timedelta(minutes=2)
    github_world.fail(Failure("write", 503, times=None, until=lambda: fake_time() >= end))
    async with client_of(github_world, fake_time) as client:
        tries = 0
        while True:
            try:
                await client.create_comment(place.where, 1, f"result {MARK}", MARK)
                break
            except GitHubUnavailable as error:
                tries += 1
                fake_time.advance(seconds=error.retry_after_seconds)
    assert 1 < tries < 20
    assert len(place.issue.comments) == 1


async def test_b79_a_job_outlives_its_tokens_hour(
    github_client: GitHub, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    comment_id = await github_client.create_comment(place.where, 1, f"working {MARK}", MARK)
    fake_time.advance(minutes=61)
    await github_client.edit_comment(place.where, comment_id, f"result {MARK}")
    assert place.issue.comments[0].body == f"result {MARK}"
    assert [exchange.status for exchange in github_world.log if exchange.status == 401] == []


async def test_b79_bad_credentials_once_are_answered_with_a_new_token(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    comment_id = await github_client.create_comment(place.where, 1, f"working {MARK}", MARK)
    for token in github_world.state.tokens.values():
        token.revoked = True
    await github_client.edit_comment(place.where, comment_id, f"result {MARK}")
    assert place.issue.comments[0].body == f"result {MARK}"
    assert [e.status for e in github_world.log][-3:] == [401, 201, 200]


async def test_b79_bad_credentials_for_ever_are_a_refusal_after_one_new_token(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.fail(Failure("repos/get", 401, times=None))
    with pytest.raises(GitHubRefused, match="401"):
        await github_client.repository(place.where)
    assert sent(github_world, "repos/get") == 2
    assert sent(github_world, "apps/create-installation-access-token") == 2


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


@pytest.mark.parametrize("status", [500, 502, 503, 504, 520, 522, 530])
async def test_a_server_error_with_any_number_is_tried_again(
    status: int, github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.fail(
        Failure("repos/get", status, body=b"<html>cloud trouble</html>", headers={"Content-Type": "text/html"})
    )
    assert (await github_client.repository(place.where)).id == place.repository.id


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{broken", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"<html></html>", "text/html"),
        (b"[]", "application/json"),
        (b'{"id": "no number"}', "application/json"),
        (b"null", "application/json"),
        (b"{}", "application/json; charset=no-such"),
    ],
)
async def test_an_answer_that_is_not_githubs_is_unavailable_and_never_a_traceback(
    body: bytes, kind: str, github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.fail(Failure("*", 200, times=None, body=body, headers={"Content-Type": kind}))
    for call in (
        github_client.app(),
        github_client.repository(place.where),
        github_client.collaborator_permission(place.where, "octo"),
        github_client.fetch_token(place.where),
        github_client.find_comment(place.where, 1, MARK),
    ):
        with pytest.raises(GitHubUnavailable):
            await call


async def test_an_error_page_in_html_becomes_short_words(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    page = b"<html>" + b"x" * 100_000
    github_world.fail(Failure("repos/get", 404, body=page, headers={"Content-Type": "text/html"}))
    with pytest.raises(GitHubRefused) as caught:
        await github_client.repository(place.where)
    assert len(str(caught.value)) < 400


async def test_a_server_that_hangs_is_given_up_in_bounded_time(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    github_world.fail(Failure("*", hang=True, times=None))
    async with (
        asyncio.timeout(5),
        client_of(github_world, fake_time, call_seconds=0.1, retry=RetryLimits(attempts=3)) as client,
    ):
        with pytest.raises(GitHubUnavailable, match="no answer"):
            await client.app()


async def test_nobody_listening_is_unavailable(fake_time: FakeTime, github_world: LocalGitHub) -> None:
    async with client_of(github_world, fake_time) as client:
        await github_world.stop()
        with pytest.raises(GitHubUnavailable, match="no connection"):
            await client.app()


async def test_a_redirect_to_another_host_is_not_followed_with_the_token(
    github_client: GitHub, github_world: LocalGitHub, fake_time: FakeTime, place: Place, tmp_path: Path
) -> None:
    async with local_github(tmp_path / "evil", fake_time) as evil:
        target = f"{evil.url}/repositories/{place.repository.id}"
        github_world.fail(Failure("repos/get", 301, headers={"Location": target}, times=None))
        with pytest.raises(GitHubRefused, match="301"):
            await github_client.repository(place.where)
        assert evil.log == []


async def test_a_redirect_loop_ends(github_client: GitHub, github_world: LocalGitHub, place: Place) -> None:
    target = f"{github_world.url}/repositories/{place.repository.id}"
    github_world.fail(Failure("repos/get", 301, headers={"Location": target}, times=None))
    with pytest.raises(GitHubRefused, match="redirects"):
        await github_client.repository(place.where)


async def test_an_enterprise_servers_prefix_comes_before_every_path(tmp_path: Path, fake_time: FakeTime) -> None:
    async with (
        local_github(tmp_path, fake_time, api_prefix="/api/v3") as server,
        client_of(server, fake_time) as client,
    ):
        place = Place(server)
        await client.app()
        await client.create_comment(place.where, 1, f"hi {MARK}", MARK)
        server.rename(place.repository, "new")
        assert (await client.repository(place.where)).name == "new"


async def test_no_log_and_no_error_shows_a_token(
    github_client: GitHub, github_world: LocalGitHub, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    github_world.fail(Failure("repos/get", 503, times=2))
    github_world.fail(Failure("repos/get", drop=True, times=None))
    with caplog.at_level(logging.DEBUG), pytest.raises(GitHubUnavailable) as caught:
        await github_client.repository(place.where)
    tokens = list(github_world.state.tokens)
    assert tokens
    shown = caplog.text + repr(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)
    assert not any(token in shown for token in tokens)
