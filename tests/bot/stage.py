"""The world of a runner for tests: a real store in a file, the local GitHub over HTTP, a fake sandbox, time by hand."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from bot.demo.github import Comment, Issue, LocalGitHub, Repository
from bot.github import GitHub, RetryLimits, open_session
from bot.permissions import Served
from bot.runner import Runner
from bot.steps.world import Rules
from bot.store import Caps, Store, Task
from bot.tasks import Actor, Command, Request, Verb
from bot.tasks import Repository as RepositoryFacts
from tests.bot.eventually import eventually
from tests.bot.fake_sandbox import FakeSandbox

# Rounds of step and idle until a fact must be there.
ROUNDS = 60


@dataclass
class HandClock:
    """Moves when told, and when somebody sleeps."""

    time: float = 1_000_000.0

    def now(self) -> float:
        return self.time

    def __call__(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


@dataclass
class Stage:
    """Everything at hand. ``restart`` makes a new runner and store, as a new process would."""

    url: str
    local: LocalGitHub
    session: aiohttp.ClientSession
    caps: Caps = field(default_factory=lambda: Caps(running=2, per_repository=2))
    clock: HandClock = field(default_factory=HandClock)
    sandbox: FakeSandbox = field(default_factory=FakeSandbox)
    worker: str = "gofer"
    served: str = "octo"
    reconcile_seconds: float = math.inf
    """Between two looks for missed webhooks; never, where a test is not about them."""

    async def begin(self) -> None:
        self.repository = self.local.add_repository(
            "octo", "repo", {"f": b"old\n"}, roles={"alice": "write", "bob": "read"}
        )
        self.issue = self.local.add_issue(self.repository)
        await self.open()

    async def open(self) -> None:
        """A process starts."""
        self.store = await Store.open(self.url, clock=self.clock)
        await self.store.become_worker(self.worker)
        self.github = GitHub(
            self.session,
            app_id=str(self.local.app.id),
            private_key=self.local.private_key,
            api_url=self.local.url,
            retry=RetryLimits(attempts=1, total_seconds=5.0),
            write_spacing_seconds=0.0,
        )
        rules = Rules(
            worker=self.worker,
            served=Served.parse(self.served),
            caps=self.caps,
            github_url=self.local.git_url,
            model="model",
        )
        self.runner = Runner(
            self.store, self.github, self.sandbox, rules, self.clock, reconcile_seconds=self.reconcile_seconds
        )

    async def close(self) -> None:
        """A process ends politely."""
        await self.runner.stop()
        await self.github.close()
        await self.store.close()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    async def ask(
        self,
        prompt: str = "fix it",
        *,
        user: str = "alice",
        verb: Verb = Verb.RUN,
        issue: Issue | None = None,
        repository: Repository | None = None,
        user_type: str = "User",
    ) -> Comment:
        """Somebody comments, and the webhook's request is in the store."""
        repository, issue = repository or self.repository, issue or self.issue
        comment = await self.local.comment(repository, issue, user, f"/agent {prompt}")
        author = comment.user
        installation = self.local.state.installation_of(repository)
        request = Request(
            delivery_id=f"delivery-{comment.id}",
            content_key=f"comment-{comment.id}",
            event="issue_comment",
            installation_id=installation.id if installation else 1,
            repository=RepositoryFacts(
                id=repository.id,
                owner=repository.owner.login,
                name=repository.name,
                private=repository.private,
                default_branch=repository.default_branch,
            ),
            thread=issue.number,
            is_pull_request=issue.is_pull_request,
            comment_id=comment.id,
            sender=Actor(id=author.id, login=author.login, type=user_type),
            command=Command(verb=verb, prompt=prompt if verb is Verb.RUN else ""),
            created_at=comment.created_at,
        )
        assert await self.store.add(request)
        return comment

    async def tasks(self) -> list[Task]:
        return await self.store.tasks()

    async def the_task(self) -> Task:
        (task,) = await self.tasks()
        return task

    async def settle(self) -> None:
        """Step and wait until everything is done that can be done at this time."""
        for _ in range(ROUNDS):
            before = [(t.task_id, t.state, t.fence) for t in await self.tasks()]
            await self.runner.step()
            async with asyncio.timeout(30):
                await self.runner.idle()
            if before == [(t.task_id, t.state, t.fence) for t in await self.tasks()] and not self.runner.working:
                return
        raise AssertionError(f"it does not settle:\n{self.local.history()}\n{await self.tasks()}")

    async def until(self, fact: Callable[[], bool], seconds: float = 10.0) -> None:
        """Step as often as a running loop would, until ``fact`` holds."""
        async with asyncio.timeout(seconds):
            while not fact():
                await self.runner.step()
                await asyncio.sleep(0.005)

    async def so(self, fact: Callable[[], bool], seconds: float = 10.0) -> None:
        """Let everything run until ``fact`` holds."""
        await eventually(fact, seconds, self.local.history)

    @property
    def said(self) -> list[str]:
        """The bot's comments on the issue as they are now."""
        return [comment.body for comment in self.local.bot_comments(self.issue)]

    def reactions(self, comment: Comment) -> list[str]:
        return [reaction.content for reaction in comment.reactions]


@asynccontextmanager
async def a_stage(folder: Path, *, caps: Caps | None = None) -> AsyncIterator[Stage]:
    """A stage with one repository, one issue, alice who may write and bob who may not."""
    local = LocalGitHub(folder / "github")
    (folder / "github").mkdir()
    await local.start()
    session = open_session()
    stage = Stage(f"sqlite:///{folder}/gofer.db", local, session)
    stage.caps = caps or stage.caps
    await stage.begin()
    try:
        yield stage
    finally:
        await stage.close()
        await session.close()
        await local.stop()
