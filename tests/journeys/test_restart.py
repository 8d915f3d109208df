"""The server dies or stops in the middle of a real task; the next one goes on. Real engine, real agent."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from bot.demo import scenarios
from bot.store import Store
from bot.tasks import TaskState
from tests.engine import Images, labelled
from tests.journey import RESULT_SECONDS, VERDICT, World, issue_in, world

pytestmark = pytest.mark.engine

START_SECONDS = 60.0
# What SIGTERM is promised to take.
STOP_SECONDS = 5.0
# When the model is asked for the second time, BEGAN.md is there; then it works for ten seconds.
WAITS = "n=0; while [ $n -lt 100 ]; do n=$((n+1)); read -t 0.1 <> <(:) || true; done"
SLOW = scenarios.marker(scenarios.shell("echo began > BEGAN.md", WAITS))
LOOK_SECONDS = 0.1


class Bot:
    """``gofer serve`` as a process."""

    def __init__(self, w: World) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._environment = os.environ | w.environment | {"GOFER_LISTEN": f"127.0.0.1:{self.port}"}
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Returns when it listens."""
        command = (sys.executable, "-m", "bot", "serve")
        self._process = await asyncio.create_subprocess_exec(
            *command, env=self._environment, stderr=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(START_SECONDS):
            while not await self._listens():  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(LOOK_SECONDS)

    async def kill(self) -> None:
        """kill -9."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def terminate(self) -> int:
        """SIGTERM; the exit status, within what is promised."""
        assert self._process is not None
        self._process.terminate()
        async with asyncio.timeout(STOP_SECONDS):
            return await self._process.wait()

    async def _listens(self) -> bool:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.close()
            return True
        return False


@asynccontextmanager
async def bot_in(w: World) -> AsyncIterator[Bot]:
    """Started, with the webhook connected; killed at the end."""
    bot = Bot(w)
    await bot.start()
    try:
        await w.github.connect_webhook(f"http://127.0.0.1:{bot.port}/webhook")
        yield bot
    finally:
        await bot.kill()


async def done(w: World) -> None:
    """Until the task is done in the database: its sandbox is removed by then."""
    store = await Store.open(w.config.database)
    try:
        async with asyncio.timeout(RESULT_SECONDS):
            while [task.state for task in await store.tasks()] != [TaskState.DONE]:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
    finally:
        await store.close()


def agents(client: docker.DockerClient, instance: str) -> list[Container]:
    return client.containers.list(filters={"label": [f"gofer.instance={instance}", "gofer.role=agent"]})


async def working(w: World, client: docker.DockerClient, instance: str) -> None:
    """Until the agent has begun: the model was asked, and the status comment says so."""
    await w.model.wait_for_questions(2, RESULT_SECONDS)
    await w.github.await_comment(lambda c: c.by_app and "Working" in c.body, RESULT_SECONDS)
    assert len(agents(client, instance)) == 1


@pytest.mark.parametrize("end", ["kill", pytest.param("terminate", marks=pytest.mark.slow)])
async def test_b20_the_next_server_watches_on(
    end: str, docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    async with world(docker_client, images, nothing_left_behind, tmp_path) as w, bot_in(w) as bot:
        repository, issue = issue_in(w)
        await w.github.comment(repository, issue, "mona", f"/agent go slowly {SLOW}")
        await working(w, docker_client, nothing_left_behind)
        if end == "kill":
            await bot.kill()
        else:
            assert await bot.terminate() == 0
        assert len(agents(docker_client, nothing_left_behind)) == 1, "the sandbox must run on"
        await bot.start()
        result = await w.result(issue)
        assert "+++ b/BEGAN.md" in result.body
        assert "**Verdict: changed.**" in result.body
        assert len(w.github.bot_comments(issue)) == 1
        await done(w)


async def test_a_task_whose_container_vanished_meanwhile_is_lost_not_failed(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    async with world(docker_client, images, nothing_left_behind, tmp_path) as w, bot_in(w) as bot:
        repository, issue = issue_in(w)
        await w.github.comment(repository, issue, "mona", f"/agent go slowly {SLOW}")
        await working(w, docker_client, nothing_left_behind)
        await bot.kill()
        for container in agents(docker_client, nothing_left_behind):
            container.remove(force=True)
        await bot.start()
        result = await w.result(issue)
        assert "**Verdict: lost.**" in result.body
        assert "+++ b/BEGAN.md" in result.body, "the files are still there and the diff can still be read"
        assert len(w.github.bot_comments(issue)) == 1
        await done(w)


@pytest.mark.slow
@pytest.mark.parametrize("call", range(1, 24, 2))
async def test_v05_killed_at_the_nth_call_to_github_or_the_engine(
    call: int, docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    """kill -9 when the n-th fact is seen from outside (a request to GitHub, a container of ours)."""
    async with world(docker_client, images, nothing_left_behind, tmp_path) as w, bot_in(w) as bot:
        repository, issue = issue_in(w)
        await w.github.comment(repository, issue, "mona", "/agent write notes")
        async with asyncio.timeout(RESULT_SECONDS):
            while len(w.github.log) + len(labelled(docker_client, nothing_left_behind)) < call:
                if any(VERDICT in c.body for c in w.github.bot_comments(issue)):
                    break
                await asyncio.sleep(0.005)
        await bot.kill()
        await bot.start()
        result = await w.result(issue)
        assert "+++ b/NOTES.md" in result.body
        assert len(w.github.bot_comments(issue)) == 1
        await done(w)
