"""The server from its webhook to its last comment, and what it does while the world hangs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest

from bot.app import REOPEN_SECONDS, Server, StartError, serving
from bot.comments import fetching
from bot.config import ConfigError
from bot.demo.github import Failure, Issue, LocalGitHub, Repository
from bot.runner import STUCK_SECONDS
from bot.store import StoreError
from sandbox import Unreachable
from tests.bot.eventually import eventually, eventually_is
from tests.bot.expected import expected, status
from tests.bot.fake_sandbox import FakeSandbox
from tests.bot.served import PEM, config_for, opener_of
from tests.bot.stage import HandClock
from tests.bot.verified import read_when_done
from tests.reader import Reader


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[LocalGitHub]:
    (tmp_path / "github").mkdir()
    made = LocalGitHub(tmp_path / "github")
    await made.start()
    yield made
    await made.stop()


@pytest.fixture(autouse=True)
def reader(local: LocalGitHub) -> Iterator[Reader]:
    """At the end nothing that the bot has said is left unread."""
    made = Reader(local)
    yield made
    made.all_is_read()


def place(local: LocalGitHub) -> tuple[Repository, Issue]:
    repository = local.add_repository("octo", "repo", {}, roles={"alice": "write"})
    return repository, local.add_issue(repository)


async def health(server: Server) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/healthz") as answer:
        return answer.status, (await answer.json())["status"]


async def healthy(server: Server) -> None:
    await eventually_is(lambda: health(server), (200, "ok"))


async def test_comment_becomes_a_diff_through_the_real_webhook(
    tmp_path: Path, local: LocalGitHub, reader: Reader
) -> None:
    sandbox = FakeSandbox()
    async with serving(config_for(tmp_path, local), opener=opener_of(sandbox)) as server:
        await local.connect_webhook(f"{server.url}/webhook")
        repository, issue = place(local)
        await healthy(server)
        comment = await local.comment(repository, issue, "alice", "Hello.\r\n\r\n/agent fix it\r\n")
        assert local.deliveries[0].status == 202
        said = await local.await_comment(lambda c: c.by_app and "+new" in c.body)
        assert [reaction.content for reaction in comment.reactions] == ["eyes"]
        assert local.bot_comments(issue) == [said]
        (task,) = await server.store.tasks()
        assert reader.comment(issue) == (await expected(server, task)).result


async def test_w22_b26_webhook_is_answered_at_once_while_engine_and_github_hang(
    tmp_path: Path, local: LocalGitHub, reader: Reader
) -> None:
    sandbox = FakeSandbox(hang={"open"})
    hang = local.fail(Failure("*", hang=True, times=None))
    async with serving(config_for(tmp_path, local), opener=opener_of(sandbox)) as server:
        await local.connect_webhook(f"{server.url}/webhook")
        repository, issue = place(local)
        for _ in range(3):
            began = time.monotonic()
            await local.comment(repository, issue, "alice", "/agent fix it")
            assert time.monotonic() - began < 0.5
        assert [delivery.status for delivery in local.deliveries] == [202] * 3
        assert len(await server.store.tasks()) == 3
        assert await health(server) == (200, "starting")

        local.failures.remove(hang)
        sandbox.hang.clear()
        sandbox.changed.set()
        await healthy(server)
        await local.await_comment(lambda c: c.by_app and "+new" in c.body)
        await read_when_done(reader, local, server)
        assert all("Not started twice" in said for said in reader.comments(issue))


class Leaping(HandClock):
    """A minute passes whenever somebody looks: every look of the loop was long ago."""

    def now(self) -> float:
        self.time += STUCK_SECONDS
        return self.time


async def test_loop_that_hangs_is_reported_as_stuck(tmp_path: Path, local: LocalGitHub) -> None:
    opener = opener_of(FakeSandbox())
    async with serving(config_for(tmp_path, local), opener=opener, clock=Leaping()) as server:
        await eventually_is(lambda: health(server), (503, "stuck"))


async def test_engine_that_is_down_at_the_start_is_opened_when_it_comes_up(tmp_path: Path, local: LocalGitHub) -> None:
    sandbox, clock = FakeSandbox(), HandClock()
    sandbox.trouble["open"] = Unreachable("no daemon")
    async with serving(config_for(tmp_path, local), opener=opener_of(sandbox), clock=clock) as server:
        await eventually(lambda: sandbox.counts()["open"] >= 3)
        assert clock.time >= 1_000_000 + 2 * REOPEN_SECONDS
        del sandbox.trouble["open"]
        await healthy(server)


async def test_missing_image_ends_the_server_with_what_to_do(tmp_path: Path, local: LocalGitHub) -> None:
    sandbox = FakeSandbox()
    sandbox.trouble["open"] = RuntimeError("the image gofer/claude is missing; run make images")
    async with serving(config_for(tmp_path, local), opener=opener_of(sandbox)) as server:
        assert "make images" in str(await asyncio.wait_for(server.failed(), 10))


async def test_app_id_and_key_that_do_not_belong_together_end_the_server(tmp_path: Path, local: LocalGitHub) -> None:
    config = config_for(tmp_path, local, app_id="424242")
    async with serving(config, opener=opener_of(FakeSandbox())) as server:
        assert "GOFER_APP_ID" in str(await asyncio.wait_for(server.failed(), 10))


async def test_key_that_is_cut_off_is_told_in_words(tmp_path: Path, local: LocalGitHub) -> None:
    config = config_for(tmp_path, local, private_key=PEM)
    with pytest.raises(StartError, match="GOFER_PRIVATE_KEY: "):
        async with serving(config, opener=opener_of(FakeSandbox())):
            pass


async def test_stop_takes_less_than_five_seconds_while_everything_hangs(
    tmp_path: Path, local: LocalGitHub, reader: Reader
) -> None:
    sandbox = FakeSandbox(hang={"prepare", "close", "handles"})
    began = 0.0
    async with serving(config_for(tmp_path, local), opener=opener_of(sandbox)) as server:
        await local.connect_webhook(f"{server.url}/webhook")
        repository, issue = place(local)
        await local.comment(repository, issue, "alice", "/agent fix it")
        await eventually(lambda: sandbox.counts()["prepare"] == 1)
        (task,) = await server.store.tasks()
        assert reader.comment(issue) == status(task, fetching())
        local.fail(Failure("*", hang=True, times=None))
        began = time.monotonic()
    assert time.monotonic() - began < 4.5
    sandbox.hang.clear()


async def test_address_in_use_is_told_in_words(tmp_path: Path, local: LocalGitHub) -> None:
    async with serving(config_for(tmp_path, local), opener=opener_of(FakeSandbox())) as server:
        other = tmp_path / "other"
        other.mkdir()
        taken = config_for(other, local, listen=server.url.removeprefix("http://"))
        with pytest.raises(StartError, match="cannot listen"):
            async with serving(taken, opener=opener_of(FakeSandbox())):
                pass


async def test_second_server_on_one_state_directory_is_refused(tmp_path: Path, local: LocalGitHub) -> None:
    config = config_for(tmp_path, local)
    async with serving(config, opener=opener_of(FakeSandbox())):
        with pytest.raises(StoreError, match="another gofer serve"):
            async with serving(config, opener=opener_of(FakeSandbox())):
                pass


async def test_missing_state_directory_is_told_in_words(tmp_path: Path, local: LocalGitHub) -> None:
    with pytest.raises(ConfigError, match="GOFER_STATE_DIR: the directory is not there"):
        async with serving(config_for(tmp_path / "none", local), opener=opener_of(FakeSandbox())):
            pass


async def test_certificates_of_one_s_own_are_loaded_or_refused(tmp_path: Path, local: LocalGitHub) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    config = config_for(tmp_path, local, github_ca_file=tmp_path / "ca.pem")
    with pytest.raises(ConfigError, match="no certificates"):
        async with serving(config, opener=opener_of(FakeSandbox())):
            pass
