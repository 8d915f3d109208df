"""A conversation on the real engine: the whole of Gofer with Codex, the quickest agent, and nothing left unread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import docker

from bot.app import Server
from bot.demo import scenarios
from bot.demo.github import Issue, LocalGitHub, Repository
from bot.store import Task
from tests.engine import Images
from tests.journey import World, all_done, issue_in, server_in, world
from tests.reader import Reader


@dataclass
class Talk:
    """Everything at hand. ``mona`` may write to ``repository``, and ``issue`` is hers."""

    world: World
    server: Server
    repository: Repository
    issue: Issue

    @property
    def reader(self) -> Reader:
        return self.world.reader

    @property
    def github(self) -> LocalGitHub:
        return self.world.github

    def agent(self, says: str, *commands: str) -> None:
        """From now on agents run these commands and end with these words."""
        self.world.model.scenario = scenarios.says(says, *commands)

    def told(self) -> str:
        """All that the model was asked so far."""
        return "\n".join(seen.body.decode() for seen in self.world.model.questions)

    async def done(self, count: int) -> Task:
        """Until ``count`` tasks are done: the last of them."""
        await all_done(self.server, count)
        return (await self.server.store.tasks())[-1]

    def pulls(self) -> list[Issue]:
        """Pull requests that the bot has opened, in order."""
        return [one for one in self.repository.issues.values() if one.pull is not None and one.pull.by_app]


Begin = Callable[..., AbstractAsyncContextManager[Talk]]


def beginning(client: docker.DockerClient, images: Images, instance: str, folder: Path) -> Begin:
    """What a fixture gives: settings of the operator's to a conversation."""

    @asynccontextmanager
    async def begin(*, enterprise: bool = False, **settings: str) -> AsyncIterator[Talk]:
        given = {"agents": "codex", **settings}
        async with (
            world(client, images, instance, folder, enterprise=enterprise, reads=True, **given) as w,
            server_in(w) as server,
        ):
            repository, issue = issue_in(w)
            talk = Talk(w, server, repository, issue)
            yield talk
            talk.reader.all_is_read()

    return begin
