"""kill -9 at every point where the server does something to the world, then start again (V05, O13, B20).

The server is a real process; the local GitHub and the sandbox outlive it. Each call of it to either is one point,
before and after its effect. Between two such points there are only commits, so there is no other place to die at.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.demo.github import Comment, Failure, Issue, LocalGitHub, Repository
from bot.steps.publish import Brought
from bot.store import Store
from tests.bot.eventually import eventually, eventually_is
from tests.bot.expected import Expected
from tests.reader import Reader

ROOT = Path(__file__).parent.parent.parent
START_SECONDS = 20.0


@dataclass
class Nursery:
    """Starts servers; see nursery.py."""

    process: subprocess.Popen[bytes]

    def start(self, order: dict[str, Any]) -> int:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@dataclass
class House:
    """One server's world: its folder, its GitHub, one repository with one issue."""

    folder: Path
    local: LocalGitHub
    nursery: Nursery
    repository: Repository
    issue: Issue
    pid: int = 0
    github_calls: int = 0
    pids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reader = Reader(self.local)

    async def start(self, kill: tuple[int, str] | None = None) -> None:
        """Start a server and wait until it listens or has died."""
        environment = {
            "GOFER_APP_ID": str(self.local.app.id),
            "GOFER_PRIVATE_KEY": self.local.private_key.get_secret_value(),
            "GOFER_WEBHOOK_SECRET": self.local.webhook_secret.get_secret_value(),
            "GOFER_SERVED": "octo",
            "GOFER_MODEL_KEY": "sk-canary",
            "GOFER_GITHUB_URL": self.local.git_url,
            "GOFER_GITHUB_PRIVATE": "true",
            "GOFER_GITHUB_API_URL": self.local.url,
            "GOFER_STATE_DIR": str(self.folder),
            "GOFER_LISTEN": "127.0.0.1:0",
        }
        (self.folder / "log").write_text("")
        self.pid = self.nursery.start({"environment": environment, "folder": str(self.folder), "kill": kill})
        self.pids.append(self.pid)
        await eventually(lambda: bool(self.url()) or not self.alive(), START_SECONDS, self.story)
        await self.local.connect_webhook(f"{self.url()}/webhook")

    def url(self) -> str:
        """Where it says it listens."""
        for line in (self.folder / "log").read_text().splitlines():
            if line.startswith("{") and "listening on" in line:
                return str(json.loads(line)["message"]).removeprefix("listening on ")
        return ""

    def alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    async def kill(self, number: int = signal.SIGKILL) -> float:
        """Send a signal and wait for the end; how many seconds it took."""
        began = time.monotonic()
        if self.alive():
            os.kill(self.pid, number)
        await eventually(lambda: not self.alive(), 10, self.story)
        return time.monotonic() - began

    def calls(self, *words: str) -> list[str]:
        """Calls of the sandbox that begin with these words."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.split()[: len(words)] == list(words)]

    def watch_github(self, kill: tuple[int, str] | None) -> None:
        """Count the calls that come over HTTP. One of them gets no answer; ``one_task`` then kills the server."""

        def not_this_one() -> bool:
            self.github_calls += 1
            return kill is None or self.github_calls != kill[0]

        after = kill is not None and kill[1] == "after"
        self.local.fail(Failure("*", times=1, until=not_this_one, after_effect=after, hang=True))

    def stands(self) -> bool:
        """A call got no answer, with or without its effect."""
        return any(exchange.scripted for exchange in self.local.log)

    async def ask(self) -> Comment:
        return await self.local.comment(self.repository, self.issue, "alice", "/agent fix it")

    def said(self) -> list[str]:
        return self.reader.conversation(self.issue)

    def is_tidy(self) -> bool:
        """The result is there and the sandbox is not."""
        return any("Verdict" in body for body in self.said()) and not list(self.folder.glob("*.box"))

    async def at_work(self) -> None:
        """Start the server, ask, and wait until an agent is at work that will not end while the file ``hold`` is."""
        (self.folder / "hold").touch()
        await self.start()
        await self.ask()
        await eventually(lambda: bool(self.calls("wait")), 20, self.story)

    async def ended(self) -> None:
        await eventually(self.is_tidy, 20, self.story)

    async def check(self) -> None:
        """One task, one agent, one comment with the result, and nothing left."""
        await self.ended()
        store = await Store.open(f"sqlite:///{self.folder}/gofer.db")

        async def states() -> list[str]:
            return [task.state for task in await store.tasks()]

        await eventually_is(states, ["done"])
        await self.kill(signal.SIGTERM)
        (task,) = await store.tasks()
        outcome = await store.outcome(task.task_id)
        await store.close()
        assert (task.state, task.ending) == ("done", "changed"), self.story()
        assert outcome is not None
        assert self.said() == [Expected(task, outcome, Brought(task, None)).result], self.story()
        assert "+new" in self.said()[0]
        assert len(self.calls("agent")) == 1, self.story()

    def story(self) -> str:
        log = (self.folder / "log").read_text()
        return f"{self.local.history()}\n{self.calls()}\n{log}"


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bot.nursery"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    yield Nursery(process)
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    process.wait(START_SECONDS)
    process.stdout.close()


@asynccontextmanager
async def a_house(folder: Path, nursery: Nursery) -> AsyncIterator[House]:
    (folder / "github").mkdir(parents=True)
    local = LocalGitHub(folder / "github")
    await local.start()
    repository = local.add_repository("octo", "repo", {}, roles={"alice": "write"})
    house = House(folder, local, nursery, repository, local.add_issue(repository))
    try:
        yield house
        house.reader.all_is_read()
    finally:
        await house.kill()
        await local.stop()


async def one_task(house: House, kill: tuple[int, str] | None = None) -> None:
    """Ask, let it come to its end or to the server's, start again, and ask GitHub to send again what was missed."""
    await house.start(kill)
    await house.ask()
    delivery = house.local.deliveries[0]
    await eventually(lambda: not house.alive() or house.stands() or (kill is None and house.is_tidy()), 20, house.story)
    if house.stands():
        await house.kill()
    if not house.alive():
        await house.start()
        if delivery.status != 202:
            await house.local.redeliver(delivery)
    await house.check()


async def points(folder: Path, nursery: Nursery) -> tuple[int, int]:
    """How many calls one undisturbed task makes: to GitHub, and to the sandbox."""
    async with a_house(folder, nursery) as house:
        house.watch_github(None)
        await one_task(house)
        return house.github_calls, len(house.calls()) // 2


@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.slow), "after"])
async def test_v05_o13_killed_at_any_call_to_github_there_is_one_comment_and_one_result(
    tmp_path: Path, nursery: Nursery, when: str
) -> None:
    total, _ = await points(tmp_path / "clean", nursery)
    assert total >= 10
    for number in range(1, total + 1):
        async with a_house(tmp_path / str(number), nursery) as house:
            house.watch_github((number, when))
            await one_task(house)


@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.slow), "after"])
async def test_v05_killed_at_any_call_to_the_sandbox_the_agent_runs_once_and_nothing_is_left(
    tmp_path: Path, nursery: Nursery, when: str
) -> None:
    _, total = await points(tmp_path / "clean", nursery)
    assert total >= 5
    for number in range(1, total + 1):
        async with a_house(tmp_path / str(number), nursery) as house:
            await one_task(house, (number, when))


async def test_b20_agent_that_runs_on_while_the_server_is_dead_is_watched_on(tmp_path: Path, nursery: Nursery) -> None:
    async with a_house(tmp_path / "h", nursery) as house:
        await house.at_work()
        await house.kill()
        await house.start()
        looks = len(house.calls("wait"))
        await eventually(lambda: len(house.calls("wait")) > looks, 20, house.story)
        assert not any("Verdict" in body for body in house.said())
        (house.folder / "hold").unlink()
        await house.check()


async def test_agent_that_ended_while_the_server_was_dead_is_collected(tmp_path: Path, nursery: Nursery) -> None:
    async with a_house(tmp_path / "h", nursery) as house:
        await house.at_work()
        await house.kill()
        (house.folder / "hold").unlink()
        await house.start()
        await house.check()


async def test_b20_sandbox_that_vanished_while_the_server_was_dead_is_told_as_lost(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with a_house(tmp_path / "h", nursery) as house:
        await house.at_work()
        await house.kill()
        for box in house.folder.glob("*.box"):
            box.unlink()
        await house.start()
        await house.ended()
        (said,) = house.said()
        assert "Lost" in said


async def test_sigterm_ends_the_server_within_five_seconds_and_leaves_the_agent_running(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with a_house(tmp_path / "h", nursery) as house:
        await house.at_work()
        assert await house.kill(signal.SIGTERM) < 5
        assert list(house.folder.glob("*.box"))
        assert house.calls("remove") == []
        (house.folder / "hold").unlink()
        await house.start()
        await house.check()


async def test_sigterm_ends_the_server_within_five_seconds_while_the_database_hangs(
    tmp_path: Path, nursery: Nursery
) -> None:
    async with a_house(tmp_path / "h", nursery) as house:
        await house.at_work()
        other = sqlite3.connect(house.folder / "gofer.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert await house.kill(signal.SIGTERM) < 5
        other.execute("ROLLBACK")
        other.close()
        (house.folder / "hold").unlink()
        await house.start()
        await house.check()


@pytest.mark.parametrize(("sleeps", "goes_on"), [(60.0, b""), (0.01, b"on")])
def test_process_that_ends_waits_for_no_thread_that_hangs(sleeps: float, goes_on: bytes) -> None:
    hang = f"threading.Thread(target=time.sleep, args=({sleeps},)).start()"
    script = f"import sys, threading, time, bot.serve as s; {hang}; n = s.leave(7); print('on', end=''); sys.exit(n)"
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, timeout=50, check=False)
    assert (done.returncode, done.stdout) == (7, goes_on)
    assert time.monotonic() - began < 30


async def test_b16_redelivery_after_a_restart_starts_nothing_again(tmp_path: Path, nursery: Nursery) -> None:
    async with a_house(tmp_path / "h", nursery) as house:
        await house.start()
        await house.ask()
        await house.ended()
        await house.kill()
        await house.start()
        again = await house.local.redeliver(house.local.deliveries[0])
        assert again is not None
        assert again.status == 202
        await house.check()


async def test_no_secret_is_in_the_log_of_a_whole_life(tmp_path: Path, nursery: Nursery) -> None:
    async with a_house(tmp_path / "h", nursery) as house:
        await house.start()
        await house.ask()
        await house.check()
        log = (house.folder / "log").read_text()
        assert "listening on" in log
        for secret in (house.local.webhook_secret, house.local.private_key):
            assert secret.get_secret_value() not in log
        assert "sk-canary" not in log
        assert "ghs_" not in log
