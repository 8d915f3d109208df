"""``gofer runner`` as a process of its own, as an operator starts one: engine and model key, nothing of GitHub's."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from bot.config import Config, RunnerConfig, variable
from bot.config_values import LOCAL_ONLY

# A start imports everything; on a busy machine it took seconds.
START_SECONDS = 60.0
# What SIGTERM is promised to take.
STOP_SECONDS = 5.0
LOOK_SECONDS = 0.05
GITHUB_ONLY = frozenset(Config.model_fields) - frozenset(RunnerConfig.model_fields)


class Runner:
    """``url`` is what a client is given. Use `runner_process`."""

    def __init__(self, environment: Mapping[str, str], socket: Path, token: str, log: Path) -> None:
        self.url = f"http+unix://{socket}"
        self.socket = socket
        self.token = token
        self.log = log
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Returns when the engine is open."""
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", "runner", env=self._environment, stdout=output, stderr=output
            )
        await _serves(self._process, self.socket, self.token, self.log)

    async def terminate(self) -> None:
        """SIGTERM: it ends by itself within what is promised."""
        assert self._process is not None
        self._process.terminate()
        async with asyncio.timeout(STOP_SECONDS):
            assert await self._process.wait() == 0, f"see {self.log}"

    async def kill(self) -> None:
        """kill -9; nothing where it has ended."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def for_bot(self, environment: Mapping[str, str]) -> dict[str, str]:
        """What ``gofer serve`` is told: no engine and no model key."""
        local = {variable(name) for name in LOCAL_ONLY}
        own = {name: value for name, value in environment.items() if name not in local}
        return own | {"GOFER_SANDBOX": self.url, "GOFER_RUNNER_TOKEN": self.token}


@asynccontextmanager
async def runner_process(environment: Mapping[str, str], folder: Path) -> AsyncIterator[Runner]:
    """Behind a Unix socket, until the block is left; then it must end by itself within what is promised.

    ``environment`` may hold the bot's settings too: those about GitHub's App are left out.
    """
    token, socket = secrets.token_hex(24), folder / "api.sock"
    tokens = _files(folder, token)
    github = {variable(name) for name in GITHUB_ONLY}
    own = {name: value for name, value in environment.items() if name not in github} | {
        "GOFER_STATE_DIR": str(folder / "state"),
        "GOFER_RUNNER_LISTEN": f"unix://{socket}",
        "GOFER_RUNNER_TOKENS_FILE": str(tokens),
    }
    runner = Runner(os.environ | own, socket, token, folder / "runner.log")
    try:
        await runner.start()
        yield runner
        await runner.terminate()
    finally:
        await runner.kill()


def _files(folder: Path, token: str) -> Path:
    """The state directory, and the file of tokens."""
    (folder / "state").mkdir(parents=True, exist_ok=True)
    tokens = folder / "tokens"
    tokens.write_text(f"bot {token}\n")
    tokens.chmod(0o600)
    return tokens


async def _serves(process: asyncio.subprocess.Process, socket: Path, token: str, log: Path) -> None:
    """Until it has opened the engine: it listens before, and says 503."""
    async with asyncio.timeout(START_SECONDS):
        while not await _answers(socket, token):
            assert process.returncode is None, f"the runner has ended: see {log}"
            await asyncio.sleep(LOOK_SECONDS)


async def _answers(socket: Path, token: str) -> bool:
    connector = aiohttp.UnixConnector(path=str(socket))
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with (
            aiohttp.ClientSession(connector=connector, headers=headers) as session,
            session.get("http://runner/sandboxes") as response,
        ):
            return response.status == 200
    except aiohttp.ClientError:
        return False
