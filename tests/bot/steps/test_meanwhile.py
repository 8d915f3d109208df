"""What happens on GitHub while an agent works: each task ends honestly, and nothing is pushed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.conversation_words import MADE_PUBLIC
from bot.demo.github import Issue, Repository
from bot.store import Task
from bot.tasks import TaskState
from tests.bot.expected import just_begun
from tests.bot.hooked import a_hooked_stage
from tests.bot.results import changed
from tests.bot.stage import Stage
from tests.github_world import sent


@dataclass
class Scene:
    """A private repository in which alice asks for a pull request."""

    stage: Stage
    repository: Repository
    issue: Issue

    async def at_work(self) -> Task:
        """Until an agent works on what alice has asked for."""
        self.stage.sandbox.automatic = None
        await self.stage.local.comment(self.repository, self.issue, "alice", "/agent --pr fix it")
        await self.stage.until(lambda: self.stage.sandbox.counts()["wait"] >= 1)
        return await self.stage.the_task()

    async def ended(self) -> Task:
        """The agent ends with changes, if it was not stopped; until the task is done."""
        sandbox = self.stage.sandbox
        for name in list(sandbox.boxes):
            sandbox.end(name, changed(self.stage.local.head(self.repository) or ""))
        return await self.done()

    async def stopped(self) -> Task:
        """The flag is seen, the agent is killed; until the task is done."""
        stage = self.stage
        stage.clock.time += 11
        await stage.until(lambda: bool(stage.runner.world.cancelled))
        for box in stage.sandbox.boxes.values():
            box.elapsed += 1
        stage.sandbox.changed.set()
        await stage.so(lambda: stage.sandbox.counts()["cancel"] == 1)
        return await self.done()

    async def done(self) -> Task:
        async with asyncio.timeout(20):
            while (task := await self.stage.the_task()).state is not TaskState.DONE:
                await self.stage.settle()
                self.stage.clock.time += 61
        return task

    @property
    def pushed(self) -> bool:
        """Whether anything of the App's went into the repository."""
        operations = ("git/create-commit", "git/create-ref", "git/update-ref", "pulls/create")
        return any(sent(self.stage.local, operation) for operation in operations)

    @property
    def said(self) -> list[str]:
        return self.stage.said_on(self.issue)

    def says_no_more(self, task: Task) -> None:
        """Than what it said when the agent began."""
        (said,) = self.said
        assert said in just_begun(task)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with a_hooked_stage(tmp_path) as (stage, _):
        repository = stage.local.add_repository(
            "octo", "secret", {"README.md": b"# Hello\n"}, private=True, roles={"alice": "write"}
        )
        yield Scene(stage, repository, stage.local.add_issue(repository))


async def test_the_scene_without_anything_in_between_pushes(scene: Scene) -> None:
    await scene.at_work()
    task = await scene.ended()
    assert (task.ending, scene.pushed) == ("changed", True)


async def test_installation_suspended_meanwhile_stops_the_agent_and_keeps_what_it_did(scene: Scene) -> None:
    await scene.at_work()
    installation = scene.stage.local.state.installation_of(scene.repository)
    assert installation is not None
    await scene.stage.local.change_installation(installation, "suspend")
    task = await scene.stopped()
    assert (task.ending, scene.pushed) == ("undeliverable", False)
    scene.says_no_more(task)
    assert await scene.stage.store.patch(task.task_id)
    assert scene.stage.sandbox.boxes == {}


async def test_installation_deleted_meanwhile_stops_the_agent(scene: Scene) -> None:
    await scene.at_work()
    installation = scene.stage.local.state.installation_of(scene.repository)
    assert installation is not None
    await scene.stage.local.change_installation(installation, "deleted")
    task = await scene.stopped()
    assert (task.ending, scene.pushed, scene.stage.sandbox.boxes) == ("undeliverable", False, {})
    scene.says_no_more(task)


async def test_repository_taken_out_meanwhile_stops_the_agent(scene: Scene) -> None:
    await scene.at_work()
    await scene.stage.local.take_out(scene.repository)
    task = await scene.stopped()
    assert (task.ending, scene.pushed) == ("undeliverable", False)
    scene.says_no_more(task)


async def test_permission_lost_meanwhile_is_a_diff_of_which_nothing_is_pushed(scene: Scene) -> None:
    await scene.at_work()
    scene.stage.local.set_role(scene.repository, "alice", "read")
    task = await scene.ended()
    assert (task.ending, scene.pushed) == ("changed", False)
    (said,) = scene.said
    assert "Nothing was pushed" in said
    assert "may not ask for work here any more" in said


async def test_a13_o14_repository_made_public_meanwhile_shows_nothing_of_what_was_private(scene: Scene) -> None:
    await scene.at_work()
    await scene.stage.local.change_repository(scene.repository, "publicized")
    task = await scene.stopped()
    assert (task.ending, scene.pushed) == ("cancelled", False)
    (said,) = scene.said
    assert MADE_PUBLIC in said
    assert "+new" not in said
    assert "I did it." not in said
    assert await scene.stage.store.patch(task.task_id)


async def test_a13_made_public_without_a_word_is_seen_before_anything_is_posted(scene: Scene) -> None:
    """The webhook may be lost: GitHub is asked right before."""
    await scene.at_work()
    scene.repository.private = False
    task = await scene.ended()
    assert (task.ending, scene.pushed) == ("changed", False)
    (said,) = scene.said
    assert "was made public meanwhile" in said
    assert "I did it." not in said
    assert "# Hello!" not in said


async def test_a13_o14_issue_transferred_meanwhile_is_followed_nowhere(scene: Scene) -> None:
    await scene.at_work()
    other = scene.stage.local.add_repository("octo", "other", {}, roles={"alice": "write"})
    there = await scene.stage.local.transfer(scene.repository, scene.issue, other)
    task = await scene.stopped()
    assert (task.ending, scene.pushed) == ("undeliverable", False)
    scene.says_no_more(task)
    assert scene.stage.local.bot_comments(there) == []


async def test_a13_repository_archived_meanwhile_stops_the_agent(scene: Scene) -> None:
    await scene.at_work()
    await scene.stage.local.change_repository(scene.repository, "archived")
    task = await scene.stopped()
    assert (task.ending, scene.pushed) == ("cancelled", False)


async def test_a13_issue_locked_meanwhile_stops_the_agent_and_pushes_nothing(scene: Scene) -> None:
    await scene.at_work()
    await scene.stage.local.lock(scene.repository, scene.issue)
    task = await scene.stopped()
    assert (task.ending in {"cancelled", "undeliverable"}, scene.pushed) == (True, False)
