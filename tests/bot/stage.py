"""The world of a runner for tests: a real store in a file, the local GitHub over HTTP, a fake sandbox, time by hand."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.attachments import Places
from bot.demo import github_git_objects
from bot.demo.github import Comment, Issue, LocalGitHub, Repository
from bot.github import GitHub, RetryLimits, open_session, utc_now
from bot.github_attachments import Attachments
from bot.permissions import Served
from bot.runner import Runner
from bot.steps.world import Rules
from bot.store import Caps, Store, Task
from bot.tasks import Actor, Change, Command, Request, Verb
from bot.tasks import Repository as RepositoryFacts
from bot.webhook import SERVER_OPTIONS, make_webhook
from sandbox import ChangedFile, Job, Outcome
from tests.bot.eventually import eventually
from tests.bot.fake_sandbox import FakeSandbox
from tests.bot.results import changed
from tests.bot.verified import read_what_is_right
from tests.github_world import app_key
from tests.reader import Reader

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
class GitHubTime:
    """The local GitHub's clock: the machine's, and as far ahead of it as a test has it."""

    ahead: timedelta = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.ahead


@dataclass
class Stage:
    """Everything at hand. ``restart`` makes a new runner and store, as a new process would."""

    url: str
    local: LocalGitHub
    session: aiohttp.ClientSession
    caps: Caps = field(default_factory=lambda: Caps(running=2, per_repository=2))
    clock: HandClock = field(default_factory=HandClock)
    sandbox: FakeSandbox = field(default_factory=FakeSandbox)
    githubs: GitHubTime = field(default_factory=GitHubTime)
    door: TestServer | None = None
    worker: str = "gofer"
    served: str = "octo"
    reconcile_seconds: float = math.inf
    """Between two looks for missed webhooks; never, where a test is not about them."""

    def __post_init__(self) -> None:
        self.reader = Reader(self.local)
        """What was read of what the bot says. Nothing may be left at the end."""

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
            sleep=self.clock.sleep,
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
            self.store,
            self.github,
            self.sandbox,
            rules,
            self.clock,
            reconcile_seconds=self.reconcile_seconds,
            images=Attachments(self.session, Places.of(self.local.git_url, private=True)),
        )

    async def close(self) -> None:
        """A process ends politely."""
        await self.runner.stop()
        await self.github.close()
        await self.store.close()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    async def hear(self) -> None:
        """From now on the local GitHub's webhooks reach the store, through the real door and the real triggers."""

        async def add(request: Request) -> bool:
            return await self.store.add(request)

        async def apply(change: Change) -> int:
            return await self.store.apply(change)

        app = web.Application()
        receive = make_webhook(
            self.local.webhook_secret,
            add,
            lambda: None,
            Served.parse(self.served),
            str(self.local.app.id),
            store_apply=apply,
        )
        app.router.add_post("/webhook", receive)
        self.door = TestServer(app)
        await self.door.start_server(**SERVER_OPTIONS)
        await self.local.connect_webhook(str(self.door.make_url("/webhook")))

    async def say(self, body: str, *, user: str = "alice", issue: Issue | None = None) -> Comment:
        """Somebody comments, word for word, and the bot hears of it."""
        return await self.local.comment(self.repository, issue or self.issue, user, body)

    def later(self, seconds: float = 2.0) -> None:
        """What happens on GitHub from now on is dated so much later: its times are whole seconds."""
        self.githubs.ahead += timedelta(seconds=seconds)

    async def last(self) -> Task:
        """The task that was asked for last."""
        return (await self.tasks())[-1]

    def said_on(self, issue: Issue) -> list[str]:
        """The bot's comments on it as they are now: see ``tests.reader.Text``."""
        return self.reader.conversation(issue)

    def agent(self, *files: ChangedFile, reply: str = "I did it.") -> None:
        """From now on agents end at once, and have written ``files`` (README.md unless given) on their checkout."""

        def does(job: Job) -> Outcome:
            source = job.source
            assert source is not None
            branch = (source.ref or self.repository.default_branch).removeprefix("refs/heads/")
            found = changed(source.commit or self.local.head(self.repository, branch) or "", reply=reply)
            if not files or found.changes is None:
                return found
            return found.model_copy(update={"changes": found.changes.model_copy(update={"files": files})})

        self.sandbox.does = does

    @property
    def jobs(self) -> list[Job]:
        """What sandboxes were made for, in order."""
        return self.sandbox.jobs

    def pulls(self) -> list[Issue]:
        """Pull requests that the bot has opened, in order."""
        return [one for one in self.repository.issues.values() if one.pull is not None and one.pull.by_app]

    def file(self, branch: str, path: str = "README.md") -> bytes | None:
        """What a branch holds."""
        return github_git_objects.file_at(self.repository.git_dir, f"refs/heads/{branch}", path)

    def head(self, branch: str = "main") -> str:
        return self.local.head(self.repository, branch) or ""

    async def ask(
        self,
        prompt: str = "",
        *,
        user: str = "alice",
        verb: Verb = Verb.RUN,
        issue: Issue | None = None,
        repository: Repository | None = None,
        user_type: str = "User",
    ) -> Comment:
        """Somebody comments, and the webhook's request is in the store."""
        repository, issue = repository or self.repository, issue or self.issue
        prompt = prompt or f"fix it{' again' * len(await self.tasks())}"  # the same twice is not begun twice
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
            created_at=comment.created_at.replace(microsecond=0),  # as GitHub writes it
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
                return await self.read()
        raise AssertionError(f"it does not settle:\n{self.local.history()}\n{await self.tasks()}")

    async def read(self) -> None:
        """Read all that is word for word what the tasks' rows say that it should be."""
        await read_what_is_right(self.reader, self.local, self.store, self.sandbox.boxes)

    async def all_is_read(self) -> None:
        """The end of a test: fails with what the bot has written and nobody has looked at."""
        await self.runner.stop()
        await self.read()
        self.reader.all_is_read()

    async def until(self, fact: Callable[[], bool], seconds: float = 10.0) -> None:
        """Step as often as a running loop would, until ``fact`` holds."""
        async with asyncio.timeout(seconds):
            while not fact():
                await self.runner.step()
                await asyncio.sleep(0.005)

    async def beat(self) -> None:
        """Time passes until running tasks learn that their end is wanted."""
        self.clock.time += 11
        await self.runner.step()
        await self.so(lambda: bool(self.runner.world.cancelled))
        for box in self.sandbox.boxes.values():
            box.elapsed += 1
        self.sandbox.changed.set()
        await self.settle()

    async def so(self, fact: Callable[[], bool], seconds: float = 10.0) -> None:
        """Let everything run until ``fact`` holds."""
        await eventually(fact, seconds, self.local.history)

    @property
    def said(self) -> list[str]:
        """The bot's comments on the issue as they are now."""
        return self.said_on(self.issue)

    def reactions(self, comment: Comment) -> list[str]:
        return [reaction.content for reaction in comment.reactions]


@asynccontextmanager
async def a_stage(folder: Path, *, caps: Caps | None = None, reads: bool = True) -> AsyncIterator[Stage]:
    """A stage with one repository, one issue, alice who may write and bob who may not.

    What the bot has written must have been read in the end. ``reads`` False: the test has a reader of its own.
    """
    githubs = GitHubTime()
    local = LocalGitHub(folder / "github", clock=githubs, key=app_key())
    (folder / "github").mkdir()
    await local.start()
    session = open_session()
    stage = Stage(f"sqlite:///{folder}/gofer.db", local, session, githubs=githubs)
    stage.caps = caps or stage.caps
    await stage.begin()
    try:
        yield stage
        if reads:
            await stage.all_is_read()
    finally:
        await stage.close()
        if stage.door is not None:
            await stage.door.close()
        await session.close()
        await local.stop()
