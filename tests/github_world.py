"""The local GitHub as fixtures: the world in which the bot's tests run.

Name ``tests.github_world`` in ``pytest_plugins`` to have them. What was asked and answered is held against GitHub's
description at the end of every test that used them.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import aiohttp
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from bot.demo.github import Installation, Issue, LocalGitHub, Repository
from bot.demo.github_auth import new_key
from bot.github import GitHub, RepositoryRef, RetryLimits, open_session, utc_now
from tests.openapi.conform import assert_conforms

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class FakeTime:
    """One clock for both sides. Sleeping moves it on and returns at once; ``slept`` says how long each time."""

    def __init__(self) -> None:
        self.now = START
        self.slept: list[float] = []

    def __call__(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)


def sent(server: LocalGitHub, operation: str) -> int:
    """How often the bot has asked for this operation."""
    return sum(exchange.operation == operation for exchange in server.log)


@pytest.fixture
def fake_time() -> FakeTime:
    """The test's clock."""
    return FakeTime()


@cache
def app_key() -> tuple[rsa.RSAPublicKey, SecretStr]:
    """One key pair for all tests: making one takes a fifth of a second."""
    return new_key()


@asynccontextmanager
async def local_github(
    root: Path,
    clock: Callable[[], datetime] | None = None,
    *,
    api_prefix: str = "",
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[LocalGitHub]:
    """A started local GitHub; what it saw is held against GitHub's description when it ends well."""
    server = LocalGitHub(root, clock=clock or utc_now, api_prefix=api_prefix, key=app_key())
    await server.start(tls=tls)
    try:
        yield server
    finally:
        await server.stop()
    assert_conforms(server.log)


@pytest.fixture
async def github_world(tmp_path: Path, fake_time: FakeTime) -> AsyncIterator[LocalGitHub]:
    """A local GitHub on the test's clock."""
    async with local_github(tmp_path / "github", fake_time) as server:
        yield server


@asynccontextmanager
async def client_of(
    server: LocalGitHub,
    time: FakeTime,
    *,
    clock: Callable[[], datetime] | None = None,
    write_spacing_seconds: float = 0.0,
    retry: RetryLimits | None = None,
    call_seconds: float = 10.0,
    private_key: SecretStr | None = None,
) -> AsyncIterator[GitHub]:
    """The bot's client for this server, on the test's clock. No real time passes while it waits."""
    session = open_session()
    try:
        yield GitHub(
            session,
            app_id=str(server.app.id),
            private_key=private_key or server.private_key,
            api_url=server.url,
            clock=clock or time,
            sleep=time.sleep,
            random=lambda: 0.5,
            retry=retry,
            write_spacing_seconds=write_spacing_seconds,
            call_timeout=aiohttp.ClientTimeout(total=call_seconds),
        )
    finally:
        await session.close()


@pytest.fixture
async def github_client(github_world: LocalGitHub, fake_time: FakeTime) -> AsyncIterator[GitHub]:
    """The bot's client for ``github_world``."""
    async with client_of(github_world, fake_time) as client:
        yield client


def reference(server: LocalGitHub, repository: Repository) -> RepositoryRef:
    """What the bot calls this repository."""
    installation: Installation | None = server.state.installation_of(repository)
    return RepositoryRef(
        installation_id=installation.id if installation else 0,
        repository_id=repository.id,
        owner=repository.owner.login,
        name=repository.name,
    )


class Place:
    """A repository with an issue, and the reference to it: where most tests play."""

    def __init__(self, server: LocalGitHub, *, owner: str = "octo", name: str = "hello", private: bool = False) -> None:
        self.repository = server.add_repository(owner, name, {"README.md": b"# Hello\n"}, private=private)
        self.issue: Issue = server.add_issue(self.repository)
        self.where = reference(server, self.repository)


@pytest.fixture
def place(github_world: LocalGitHub) -> Place:
    """``octo/hello`` with issue 1."""
    return Place(github_world)
