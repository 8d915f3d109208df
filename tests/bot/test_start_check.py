"""What the operator is told of the App at the start."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.app import serving
from bot.demo.github import Failure, LocalGitHub
from bot.github import GitHub
from bot.start_check import look
from tests.bot.fake_sandbox import FakeSandbox
from tests.bot.served import config_for, opener_of
from tests.github_world import Place


async def _look(client: GitHub, *, broader_is_fine: bool = False) -> str:
    return await look(client, await client.app(), broader_is_fine=broader_is_fine)


async def test_the_app_as_the_manifest_has_it_says_nothing(
    github_client: GitHub, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    assert await _look(github_client) == ""
    assert github_client.checks.on
    assert caplog.messages == []


async def test_without_checks_the_feature_is_off_and_it_is_said_once(
    github_world: LocalGitHub, github_client: GitHub, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    del github_world.app.permissions["checks"]
    assert await _look(github_client) == ""
    assert not github_client.checks.on
    assert caplog.messages == [
        "the GitHub App has no checks: write (check runs on pull requests are off, and CI that is held is not seen)"
    ]


async def test_a_needed_permission_that_is_missing_is_told_with_what_to_do(
    github_world: LocalGitHub, github_client: GitHub, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    github_world.app.permissions["contents"] = "read"
    assert await _look(github_client) == ""
    assert caplog.messages == ["the GitHub App lacks contents: write: tasks will fail; accept it as app.yml has it"]


async def test_an_installation_that_has_not_accepted_yet_is_named(
    github_world: LocalGitHub, github_client: GitHub, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    installation = github_world.state.installation_of(place.repository)
    assert installation is not None
    installation.granted = dict(github_world.app.permissions) | {"pull_requests": "read"}
    await _look(github_client)
    assert caplog.messages == [
        "the installation on octo lacks pull_requests: write: tasks will fail; accept it as app.yml has it"
    ]
    await github_world.change_installation(installation, "suspend")
    caplog.clear()
    await _look(github_client)
    assert caplog.messages == ["the installation on octo is suspended: nothing is done there"]


async def test_nowhere_installed_is_told(github_client: GitHub, caplog: pytest.LogCaptureFixture) -> None:
    await _look(github_client)
    assert caplog.messages == ["the app is installed nowhere yet"]


async def test_broader_than_the_manifest_is_refused_unless_the_operator_says_otherwise(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    github_world.app.permissions["workflows"] = "write"
    assert "workflows: write" in await _look(github_client)
    assert await _look(github_client, broader_is_fine=True) == ""


async def test_a_list_that_github_does_not_give_is_no_reason_to_stop(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    github_world.fail(Failure("apps/list-installations", 403, times=None))
    assert await _look(github_client) == ""


async def test_the_server_does_not_start_with_an_app_that_may_too_much(tmp_path: Path) -> None:
    (tmp_path / "github").mkdir()
    local = LocalGitHub(tmp_path / "github")
    await local.start()
    local.app.permissions["administration"] = "write"
    try:
        async with serving(config_for(tmp_path, local), opener=opener_of(FakeSandbox())) as server:
            assert "administration: write" in str(await asyncio.wait_for(server.failed(), 10))
        config = config_for(tmp_path, local, broader_app=True)
        async with serving(config, opener=opener_of(FakeSandbox())) as server:
            await local.until(lambda: any(one.operation == "apps/list-installations" for one in local.log))
            assert server.github.checks.on
    finally:
        await local.stop()
