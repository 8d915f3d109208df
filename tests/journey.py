"""The whole of Gofer for the journeys: real server, engine, egress, agent and git; GitHub and the model are local."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import docker

from bot.app import Server, serving
from bot.config import Config, from_environment
from bot.demo.github import Comment, Issue, LocalGitHub, Repository
from bot.demo.model import ScriptedModel
from bot.store import Store
from bot.tasks import TaskState
from tests.bot.verified import read_what_is_right
from tests.engine import Images
from tests.local_sandbox import KEY, bridge_address
from tests.openapi.conform import assert_conforms
from tests.reader import Reader
from tests.runner_process import Runner, runner_process
from tests.sandbox.api.certificates import certificate
from tests.ways import through_a_runner

HOST = "host.docker.internal"
# A journey takes some seconds; with everything on a busy machine starting at once, half a minute was seen.
RESULT_SECONDS = 120.0
# A row of the database tells nobody that it has changed.
LOOK_SECONDS = 0.05
VERDICT = "**Verdict:"


@dataclass(frozen=True)
class World:
    """Started; ``environment`` is what an operator would have set."""

    github: LocalGitHub
    model: ScriptedModel
    environment: dict[str, str]
    reader: Reader
    runner: Runner | None = None
    """The process that has the sandboxes, on the second way (`tests.ways`)."""

    @property
    def config(self) -> Config:
        return from_environment(self.environment)

    async def result(self, issue: Issue) -> Comment:
        """The status comment of this issue once it holds a verdict."""
        return await self.github.await_comment(
            lambda comment: comment in issue.comments and comment.by_app and VERDICT in comment.body, RESULT_SECONDS
        )


@asynccontextmanager
async def world(
    client: docker.DockerClient,
    images: Images,
    instance: str,
    folder: Path,
    scenario: str = "ok",
    *,
    enterprise: bool = False,
    reads: bool = True,
    **settings: str,
) -> AsyncIterator[World]:
    """Local GitHub and scripted model, reachable for containers. Every call of the bot is held against GitHub's
    description at the end. ``settings`` are names without ``GOFER_``, in small letters. On the second way
    (`tests.ways`) a runner's process is started too, and the bot is told of that alone. ``enterprise``: GitHub is a
    server of one's own, all of it at one address, https by an authority that only the operator's file names.
    ``reads``: in the end everything that the bot has written must have been read; what its rows tell is held against
    them word for word.
    """
    address = bridge_address(client)
    github = LocalGitHub(folder / "github", api_prefix="/api/v3" if enterprise else "")
    model = ScriptedModel(scenario, expected_key=KEY)
    try:
        if enterprise:
            settings = {"github_ca_file": await _own_server(github, address, folder), "github_api_url": "", **settings}
        else:
            await github.start(public_host=HOST, also=[address])
        await model.start(address)
        (folder / "state").mkdir(exist_ok=True)
        environment = _environment(github, model, images, instance, folder, settings)
        async with AsyncExitStack() as stack:
            runner: Runner | None = None
            if through_a_runner():
                runner = await stack.enter_async_context(runner_process(environment, folder / "runner"))
                environment = runner.for_bot(environment)
            w = World(github, model, environment, Reader(github), runner)
            yield w
            if reads:
                await _all_is_read(w)
    finally:
        await model.stop()
        await github.stop()
    assert_conforms(github.log)


async def _all_is_read(w: World) -> None:
    store = await Store.open(w.config.database)
    try:
        await read_what_is_right(w.reader, w.github, store, {})
    finally:
        await store.close()
    w.reader.all_is_read()


async def _own_server(github: LocalGitHub, address: str, folder: Path) -> str:
    """Start it there; the file with its authority. One address for the bot and for what runs in containers."""
    paths = certificate(folder / "authority", address)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(paths.certificate, paths.key)
    await github.start(address, tls=context)
    return str(paths.certificate)


def _environment(
    github: LocalGitHub, model: ScriptedModel, images: Images, instance: str, folder: Path, settings: dict[str, str]
) -> dict[str, str]:
    values = {
        "app_id": str(github.app.id),
        "private_key": github.private_key.get_secret_value(),
        "webhook_secret": github.webhook_secret.get_secret_value(),
        "served": "octo",
        "state_dir": str(folder / "state"),
        "listen": "127.0.0.1:0",
        "instance": instance,
        "image_prefix": images.prefix,
        "github_url": github.git_url,
        "github_api_url": github.url,
        "github_private": "true",
        "model_url": f"http://{HOST}:{model.port}",
        "model_key": KEY.get_secret_value(),
        "model_private": "true",
        # The same model as the second gateway: for agents of another API.
        "openai_url": f"http://{HOST}:{model.port}",
        "openai_key": KEY.get_secret_value(),
        "openai_private": "true",
        "workspace_bytes": str(256 * 2**20),
        **settings,
    }
    return {f"GOFER_{name.upper()}": value for name, value in values.items() if value}


@asynccontextmanager
async def server_in(world: World) -> AsyncIterator[Server]:
    """The bot in this process, with the webhook connected."""
    async with serving(world.config) as server:
        await world.github.connect_webhook(f"{server.url}/webhook")
        yield server


def issue_in(world: World, *, private: bool = False, files: dict[str, bytes] | None = None) -> tuple[Repository, Issue]:
    """``octo/hello`` with issue 1; ``mona`` may write, ``stranger`` may read."""
    repository = world.github.add_repository(
        "octo",
        "hello",
        files if files is not None else {"README.md": b"# Hello\n"},
        private=private,
        roles={"mona": "write", "stranger": "read"},
    )
    return repository, world.github.add_issue(repository, "Notes", "Please.", "mona")


async def all_done(server: Server, count: int, seconds: float = RESULT_SECONDS) -> None:
    """Until ``count`` tasks are in the database, all of them done, and the worker has nothing under way beside them."""
    async with asyncio.timeout(seconds):
        while [task.state for task in await server.store.tasks()] != [TaskState.DONE] * count:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        assert server.runner is not None
        await server.runner.idle()
