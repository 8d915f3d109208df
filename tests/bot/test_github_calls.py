"""How GitHub's failures are taken: waited out, looked after, or told."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.github import Failure, LocalGitHub
from bot.demo.github_failures import primary_limit, secondary_limit
from bot.github import GitHub, GitHubRefused, GitHubUnavailable, RetryLimits
from bot.github_retry import ABSENT_AGAIN_SECONDS
from tests.github_world import START, FakeTime, Place, client_of, local_github, sent

MARK = "<!-- gofer:7:status -->"
CREATE = "issues/create-comment"


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


READS = {
    "repos/get": lambda client, where: client.repository(where),
    "repos/get-collaborator-permission-level": lambda client, where: client.collaborator_permission(where, "octo"),
    "apps/create-installation-access-token": lambda client, where: client.repository(where),
    "issues/create-comment": lambda client, where: client.create_comment(where, 1, f"hi {MARK}", MARK),
    "issues/list-comments": lambda client, where: client.create_comment(where, 1, f"hi {MARK}", MARK),
}


@pytest.mark.parametrize("operation", READS)
async def test_v02_what_github_calls_not_there_once_is_asked_for_again(
    operation: str, github_client: GitHub, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    usual = await READS[operation](github_client, place.where)
    await github_client.close()
    place.issue.comments.clear()
    github_world.fail(Failure(operation, 404))
    again = await READS[operation](github_client, place.where)
    assert again == usual if "comment" not in operation else [one.id for one in place.issue.comments] == [again]
    assert fake_time.slept == [ABSENT_AGAIN_SECONDS]


async def test_v02_what_is_said_twice_is_believed_whatever_comes_between(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    github_world.fail(Failure("repos/get", 404))
    github_world.fail(Failure("repos/get", 503))
    github_world.fail(Failure("repos/get", 404))
    with pytest.raises(GitHubRefused, match="404"):
        await github_client.repository(place.where)
    assert sent(github_world, "repos/get") == 3


async def test_absence_that_is_usual_is_believed_at_once(
    github_client: GitHub, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    assert await github_client.publishing.file(place.where, "none.yml") is None
    assert await github_client.publishing.branch_head(place.where, "none", known=False) is None
    with pytest.raises(GitHubRefused, match="404"):
        await github_client.react(place.where, 404, "eyes")
    assert fake_time.slept == []
    assert await github_client.publishing.branch_head(place.where, "none") is None
    assert await github_client.publishing.file(place.where, "none.yml", known=True) is None
    assert fake_time.slept == [ABSENT_AGAIN_SECONDS] * 2


async def test_an_error_page_in_html_becomes_short_words(
    github_client: GitHub, github_world: LocalGitHub, place: Place
) -> None:
    page = b"<html>" + b"x" * 100_000
    github_world.fail(Failure("repos/get", 404, times=None, body=page, headers={"Content-Type": "text/html"}))
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
