"""A whole task on the stage of which one call to GitHub fails, in one of the ways that GitHub does.

    async with a_scene(tmp_path, "502 after it was done") as scene:
        await scene.opens("pulls/create", 0)

Both sides share one clock by hand. Without failures ``recorded`` has every call of the task, in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from bot.demo.github import Failure, Issue, LocalGitHub
from bot.demo.github_failures import secondary_limit
from bot.demo.github_work_state import ReviewComment
from bot.github import GitHub, RetryLimits, open_session
from bot.runner import Runner
from bot.store import Task
from bot.tasks import TaskState
from tests.bot.stage import HandClock, Stage
from tests.github_world import START, app_key

REPLY = "I did it.\n[1] It shouts now.\n[2] I left this."
LINES = ("It shouts now.", "I left this.")
# Rounds of a minute until a task must have ended, whatever failed once.
ROUNDS = 40
ROUND_SECONDS = 61.0
# What a call may take where it hangs; others take milliseconds.
SHORT_SECONDS = 1.0
LONG_SECONDS = 20.0

ONCE = RetryLimits(attempts=1, total_seconds=5.0)
"""A failed call fails its step, which is done again: what is not safe to repeat is seen."""
USUAL = RetryLimits()
"""The call itself is repeated, after a look whether it was done."""


@dataclass(frozen=True)
class Way:
    """How a call fails. ``passing``: it says nothing about the matter, so nothing may come of it."""

    failure: Callable[[str], Failure]
    retry: RetryLimits = ONCE
    passing: bool = True
    hangs: bool = False


WAYS: Mapping[str, Way] = {
    "500": Way(lambda operation: Failure(operation, 500)),
    "502 after it was done": Way(lambda operation: Failure(operation, 502, after_effect=True)),
    "502 after it was done, asked again": Way(lambda operation: Failure(operation, 502, after_effect=True), USUAL),
    "hangs after it was done": Way(lambda operation: Failure(operation, after_effect=True, hang=True), hangs=True),
    "403 secondary": Way(secondary_limit),
    "401 expired": Way(lambda operation: Failure(operation, 401)),
    "404": Way(lambda operation: Failure(operation, 404)),
    "404 twice": Way(lambda operation: Failure(operation, 404, times=2), passing=False),
}


class Shared(Stage):
    """The client's clock is the stage's too."""

    way: Way = Way(Failure)

    async def open(self) -> None:
        await super().open()
        await self.github.close()
        self.github = GitHub(
            self.session,
            app_id=str(self.local.app.id),
            private_key=self.local.private_key,
            api_url=self.local.url,
            clock=lambda: moment(self.clock),
            sleep=self.clock.sleep,
            random=lambda: 0.5,
            retry=self.way.retry,
            write_spacing_seconds=0.0,
            call_timeout=aiohttp.ClientTimeout(total=SHORT_SECONDS if self.way.hangs else LONG_SECONDS),
        )
        rules = self.runner.world.rules
        self.runner = Runner(
            self.store, self.github, self.sandbox, rules, self.clock, reconcile_seconds=self.reconcile_seconds
        )


def moment(clock: HandClock) -> datetime:
    return datetime.fromtimestamp(clock.time, UTC)


@dataclass
class Scene:
    """``stage`` hears webhooks, and its agents write README.md at once."""

    stage: Shared
    way: Way
    recorded: Counter[str] = field(default_factory=Counter)
    roots: list[ReviewComment] = field(default_factory=list)

    async def opens(self, operation: str = "", before: int = 0) -> Task:
        """``/agent --pr`` on an issue. ``before`` calls of ``operation`` go well, the next one fails, then all go."""
        with_failure = self._failing(operation, before)
        await self.stage.say("/agent --pr fix it")
        return await self._ended(with_failure)

    async def answers(self, operation: str = "", before: int = 0) -> Task:
        """A review with two threads of the pull request that was opened before."""
        await self.opens()
        self.recorded.clear()
        pull = self.pull
        with_failure = self._failing(operation, before)
        texts = [("README.md", 1, "Louder, please."), ("README.md", 1, "Why a file?")]
        await self.stage.local.review(self.stage.repository, pull, "alice", comments=texts)
        assert pull.pull is not None
        self.roots = [one for one in pull.pull.comments if not one.by_app]
        return await self._ended(with_failure)

    @property
    def pull(self) -> Issue:
        """The one that ``opens`` has opened."""
        return self.stage.pulls()[0]

    @property
    def branch(self) -> str:
        assert self.pull.pull is not None
        return self.pull.pull.head_ref

    def _failing(self, operation: str, before: int) -> Failure | None:
        self._seen = len(self.stage.local.log)
        if not operation:
            return None
        failure = self.way.failure(operation)
        failure.skip = before
        return self.stage.local.fail(failure)

    async def _ended(self, failure: Failure | None) -> Task:
        """However long it is put off."""
        for _ in range(ROUNDS):
            await self.stage.settle()
            tasks = await self.stage.tasks()
            if all(task.state is TaskState.DONE for task in tasks):
                break
            self.stage.clock.time += ROUND_SECONDS
        task = await self.stage.last()
        assert task.state is TaskState.DONE, self.stage.local.history()
        assert failure is None or failure.hits in {1, failure.times}, "the call was not made"
        self.recorded.update(one.operation for one in self.stage.local.log[self._seen :])
        return task


@asynccontextmanager
async def a_scene(folder: Path, way: Way) -> AsyncIterator[Scene]:
    clock = HandClock(START.timestamp())
    (folder / "github").mkdir()
    local = LocalGitHub(folder / "github", clock=lambda: moment(clock), key=app_key())
    await local.start()
    session = open_session()
    stage = Shared(f"sqlite:///{folder}/gofer.db", local, session, clock=clock)
    stage.way = way
    await stage.begin()
    try:
        await stage.hear()
        stage.agent(reply=REPLY)
        yield Scene(stage, way)
        await stage.all_is_read()
    finally:
        await stage.close()
        if stage.door is not None:
            await stage.door.close()
        await session.close()
        await local.stop()
