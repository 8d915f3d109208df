"""The App's JWT, and the cache of tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from pydantic import SecretStr

from bot.demo.github import LocalGitHub
from bot.demo.github_auth import new_key
from bot.demo.github_log import Exchange
from bot.github import TO_ASK, TO_FETCH, GitHub
from bot.github_auth import GitHubClock, Key, Permissions, Tokens, app_jwt, load_key, mint_body, read_minted
from bot.github_values import FetchToken, GitHubRefused, GitHubUnavailable
from sandbox import spawn
from tests.github_world import START, FakeTime, Place, client_of

MINT = "apps/create-installation-access-token"


def mints(server: LocalGitHub) -> list[Exchange]:
    return [exchange for exchange in server.log if exchange.operation == MINT]


def test_v08_the_jwt_is_backdated_a_minute_and_lives_no_longer_than_nine() -> None:
    public, private = new_key()
    made = app_jwt("123", load_key(private), START)
    claims = jwt.decode(made, public, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False})
    now = int(START.timestamp())
    assert claims == {"iss": "123", "iat": now - 60, "exp": now + 480}


def test_a_key_that_came_through_an_environment_file_is_read() -> None:
    public, private = new_key()
    flat = SecretStr(private.get_secret_value().replace("\n", "\\n"))
    jwt.decode(app_jwt("123", load_key(flat), datetime.now(UTC)), public, algorithms=["RS256"])


@pytest.mark.parametrize(
    "text", ["", "canary", "-----BEGIN RSA PRIVATE KEY-----\ncanary\n-----END RSA PRIVATE KEY-----"]
)
def test_an_unusable_key_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ValueError, match="private key is no") as caught:
        load_key(SecretStr(text))
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("seconds", [-120, -45, 0, 45, 120])
async def test_v08_a_clock_that_is_two_minutes_off_does_no_harm(
    seconds: int, github_world: LocalGitHub, fake_time: FakeTime, place: Place
) -> None:
    skewed: Callable[[], datetime] = lambda: fake_time.now + timedelta(seconds=seconds)  # noqa: E731
    async with client_of(github_world, fake_time, clock=skewed) as client:
        assert (await client.app()).id == github_world.app.id
        assert (await client.repository(place.where)).id == place.repository.id
        fake_time.advance(minutes=58)
        assert (await client.repository(place.where)).id == place.repository.id
    refused = [exchange for exchange in github_world.log if exchange.status == 401]
    assert len(refused) == (1 if seconds == 120 else 0)  # learned from the Date of the one refusal


@pytest.mark.parametrize("date", ["", "nonsense", "Sun, 01 Mar 2099 12:00:00 GMT", "Sun, 01 Mar 2026 12:00:03 GMT"])
def test_an_absurd_or_slight_difference_is_no_reason_to_move_the_clock(date: str) -> None:
    clock = GitHubClock(lambda: START)
    clock.learn({"date": date})
    assert clock.now() == START


async def test_c08_each_mint_names_exactly_one_repository_and_its_permissions(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    other = github_world.add_repository("octo", "other", {})  # the installation has more than one
    assert github_world.state.installation_of(other) is github_world.state.installation_of(place.repository)
    await github_client.collaborator_permission(place.where, "octo")
    await github_client.create_comment(place.where, 1, "hello <!-- m -->", "<!-- m -->")
    await github_client.fetch_token(place.where)
    bodies = [exchange.json() for exchange in mints(github_world)]
    assert [body["repository_ids"] for body in bodies] == [[place.repository.id]] * 3
    assert [body["permissions"] for body in bodies] == [
        {"metadata": "read"},
        {"issues": "write", "metadata": "read"},
        {"contents": "read", "metadata": "read"},
    ]
    assert all(set(body) == {"repository_ids", "permissions"} for body in bodies)


def test_c08_no_permissions_map_at_all_is_refused_since_it_would_mean_everything() -> None:
    with pytest.raises(ValueError, match="explicit"):
        mint_body(1, {})


@pytest.mark.parametrize(
    "change",
    [
        {"repositories": [{"id": 1}, {"id": 2}]},
        {"repositories": [{"id": 2}]},
        {"repositories": []},
        {"repository_selection": "all"},
        {"permissions": {"contents": "write"}},
        {"permissions": {"contents": "read", "administration": "read"}},
    ],
)
def test_c08_a_token_that_can_do_more_than_asked_for_is_not_used(change: dict[str, Any]) -> None:
    answer = {
        "token": "ghs_x",
        "expires_at": "2026-03-01T13:00:00Z",
        "permissions": {"contents": "read", "metadata": "read"},
        "repository_selection": "selected",
        "repositories": [{"id": 1}],
    }
    assert read_minted(answer, 1, TO_FETCH).expires_at == START + timedelta(hours=1)
    with pytest.raises(GitHubRefused):
        read_minted(answer | change, 1, TO_FETCH)


async def test_c10_tokens_of_two_tenants_never_meet(
    github_world: LocalGitHub, github_client: GitHub, fake_time: FakeTime
) -> None:
    places = [Place(github_world, owner=owner, name="app", private=True) for owner in ("acme", "umbrella")]

    async def job(number: int) -> None:
        place = places[number % 2]
        assert (await github_client.repository(place.where)).id == place.repository.id
        token = await github_client.fetch_token(place.where)
        marker = f"<!-- job {number} -->"
        issue = github_world.add_issue(place.repository)
        await github_client.create_comment(place.where, issue.number, f"job {number} {marker}", marker)
        seen = github_world.state.tokens[token.token.get_secret_value()]
        assert seen.repository_ids == {place.repository.id}
        assert seen.permissions == {"contents": "read", "metadata": "read"}

    await asyncio.gather(*(spawn(job(number), name=f"job-{number}") for number in range(200)))
    for parity, place in enumerate(places):
        texts = {comment.body for issue in place.repository.issues.values() for comment in issue.comments}
        assert texts == {f"job {n} <!-- job {n} -->" for n in range(parity, 200, 2)}
    # One to ask and one to write for each tenant, and a fetch token for each job: no churn.
    assert len(mints(github_world)) == 2 * 2 + 200
    assert all(exchange.status in {200, 201} for exchange in github_world.log)


def test_c10_all_that_a_token_is_for_is_part_of_its_key() -> None:
    keys = {Key.of(i, r, p) for i in (1, 2) for r in (1, 2) for p in (TO_ASK, TO_FETCH)}
    assert len(keys) == 8
    assert Key.of(1, 1, {"a": "read", "b": "write"}) == Key.of(1, 1, {"b": "write", "a": "read"})


class Minting:
    """Mints that count, and wait until they are let go."""

    def __init__(self, time: FakeTime) -> None:
        self.time = time
        self.count = 0
        self.failing: Exception | None = None

    async def __call__(self, installation_id: int, repository_id: int, permissions: Permissions) -> FetchToken:
        self.count += 1
        await asyncio.sleep(0)
        if self.failing is not None:
            raise self.failing
        return FetchToken(token=SecretStr(f"t{self.count}"), expires_at=self.time() + timedelta(hours=1))


KEY = Key.of(1, 1, TO_ASK)


async def test_many_askers_share_one_mint(fake_time: FakeTime) -> None:
    minting = Minting(fake_time)
    tokens = Tokens(minting, fake_time)
    got = await asyncio.gather(*(tokens.get(KEY) for _ in range(50)))
    assert set(got) == {"t1"}


async def test_a_token_is_renewed_five_minutes_before_its_end(fake_time: FakeTime) -> None:
    tokens = Tokens(Minting(fake_time), fake_time)
    assert await tokens.get(KEY) == "t1"
    fake_time.advance(minutes=54, seconds=59)
    assert await tokens.get(KEY) == "t1"
    fake_time.advance(seconds=1)
    assert await tokens.get(KEY) == "t2"


async def test_askers_that_were_refused_together_share_one_new_token(fake_time: FakeTime) -> None:
    tokens = Tokens(Minting(fake_time), fake_time)
    assert await tokens.get(KEY) == "t1"
    assert await asyncio.gather(*(tokens.get(KEY, "t1") for _ in range(10))) == ["t2"] * 10


async def test_a_mint_that_fails_is_tried_anew_by_the_next_asker(fake_time: FakeTime) -> None:
    minting = Minting(fake_time)
    tokens = Tokens(minting, fake_time)
    minting.failing = GitHubUnavailable("down")
    with pytest.raises(GitHubUnavailable):
        await tokens.get(KEY)
    minting.failing = None
    assert await tokens.get(KEY) == "t2"


async def test_the_tokens_kept_are_bounded(fake_time: FakeTime) -> None:
    tokens = Tokens(Minting(fake_time), fake_time)
    for repository in range(1010):
        await tokens.get(Key.of(1, repository, TO_ASK))
    assert len(tokens.take_all()) == 1000
    assert tokens.take_all() == []


def test_no_repr_shows_a_token_or_the_key() -> None:
    token = FetchToken(token=SecretStr("ghs_canary"), expires_at=START)
    assert "canary" not in f"{token!r} {token!s} {token.model_dump_json()}"
