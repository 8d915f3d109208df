"""The check run of a task on a pull request: its life, its buttons, and standing in for comments."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.check_words import dropped
from bot.comments import refused
from bot.demo.github import Comment, Failure, Issue, Repository
from bot.demo.github_work_state import CheckRun, Pull
from bot.permissions import Refusal
from bot.steps.checks import TRIES
from bot.triggers.check_run import AGAIN, CANCEL
from sandbox import Outcome, Reason, State
from tests.bot.expected import just_begun
from tests.bot.hooked import a_hooked_stage
from tests.bot.results import changed
from tests.bot.stage import Stage
from tests.github_world import sent


@dataclass
class Scene:
    """A pull request of alice's in a repository with code."""

    stage: Stage
    repository: Repository
    issue: Issue

    @property
    def pull(self) -> Pull:
        assert self.issue.pull is not None
        return self.issue.pull

    async def ask(self, text: str = "/agent fix it", user: str = "alice") -> Comment:
        return await self.stage.local.comment(self.repository, self.issue, user, text)

    @property
    def checks(self) -> list[CheckRun]:
        return self.repository.checks

    def shown(self, number: int = -1) -> tuple[Any, ...]:
        """Status, conclusion, title and buttons of a check."""
        fields = self.checks[number].fields
        buttons = [action["identifier"] for action in fields["actions"]]
        return fields["status"], fields.get("conclusion"), fields["output"]["title"], buttons

    @property
    def said(self) -> list[str]:
        return self.stage.said_on(self.issue)

    async def at_work(self) -> None:
        """Until an agent works that ends when it is told to."""
        self.stage.sandbox.automatic = None
        looks = self.stage.sandbox.counts()["wait"]
        await self.stage.until(lambda: self.stage.sandbox.counts()["wait"] > looks)

    async def begun(self, tasks: int) -> None:
        """Until so many tasks have been looked at and the last of them is done."""
        async with asyncio.timeout(10):
            while not (len(found := await self.stage.tasks()) == tasks and found[-1].state == "done"):
                await self.stage.runner.step()
                await asyncio.sleep(0.005)

    async def flagged(self) -> None:
        """The cancel flag is seen, and the next look comes."""
        stage = self.stage
        stage.clock.time += 11
        await stage.until(lambda: bool(stage.runner.world.cancelled))
        for box in stage.sandbox.boxes.values():
            box.elapsed += 1
        stage.sandbox.changed.set()
        await stage.so(lambda: stage.sandbox.counts()["cancel"] == 1)

    async def tidy(self) -> None:
        """Everything done, webhooks of our own doing included."""
        await self.stage.settle()
        await asyncio.sleep(0)
        await self.stage.settle()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with a_hooked_stage(tmp_path) as (stage, _):
        repository = stage.local.add_repository(
            "octo", "code", {"README.md": b"# Hello\n"}, roles={"alice": "write", "bob": "read"}
        )
        issue = await stage.local.open_pull(repository, {"README.md": b"# Hello\nMore\n"}, user="alice")
        yield Scene(stage, repository, issue)


async def test_a_task_has_a_check_on_the_commit_that_is_worked_on_from_start_to_end(scene: Scene) -> None:
    await scene.ask()
    await scene.at_work()
    (check,) = scene.checks
    assert check.head_sha == scene.pull.sha
    assert scene.shown() == ("in_progress", None, "Under way", [CANCEL])
    scene.stage.sandbox.automatic = changed(scene.pull.sha)
    (name,) = scene.stage.sandbox.boxes
    scene.stage.sandbox.end(name)
    await scene.tidy()
    assert len(scene.checks) == 1
    assert scene.shown() == ("completed", "success", "Changed", [AGAIN])
    task = await scene.stage.the_task()
    assert task.work.check_run_id == check.id
    assert (task.ending, len(scene.said)) == ("changed", 1)


async def test_what_is_pushed_has_one_too(scene: Scene) -> None:
    scene.stage.sandbox.automatic = changed(scene.pull.sha)
    first = scene.pull.sha
    await scene.ask("/agent --pr fix it")
    await scene.tidy()
    assert scene.pull.sha != first
    assert [check.head_sha for check in scene.checks] == [first, scene.pull.sha]
    assert scene.shown(0) == scene.shown(1) == ("completed", "success", "Changed", [AGAIN])


async def test_the_pull_request_that_an_issue_led_to_has_one_and_its_button_works_there(scene: Scene) -> None:
    stage, local = scene.stage, scene.stage.local
    stage.sandbox.automatic = changed(local.head(scene.repository) or "")
    issue = local.add_issue(scene.repository)
    await local.comment(scene.repository, issue, "alice", "/agent --pr say it louder")
    await stage.settle()
    opened = next(one for one in scene.repository.issues.values() if one.pull and one.pull.by_app)
    assert opened.pull is not None
    (check,) = scene.checks
    assert check.head_sha == opened.pull.sha
    assert scene.shown() == ("completed", "success", "Changed", [AGAIN])

    stage.sandbox.automatic = changed(opened.pull.sha, b"# HELLO!\n")
    await local.press(scene.repository, check, AGAIN, "alice")
    await stage.settle()
    first, second = await stage.tasks()
    assert (second.work.asked, second.request.thread) == (first.work.asked, issue.number)
    assert [one.head_sha for one in scene.checks][-1] == opened.pull.sha != check.head_sha


async def test_work_on_the_pull_request_of_an_issue_is_cancelled_by_its_button(scene: Scene) -> None:
    stage, local = scene.stage, scene.stage.local
    stage.sandbox.automatic = changed(local.head(scene.repository) or "")
    issue = local.add_issue(scene.repository)
    await local.comment(scene.repository, issue, "alice", "/agent --pr say it louder")
    await stage.settle()
    await local.comment(scene.repository, issue, "alice", "/agent --pr and louder")
    await scene.at_work()
    assert scene.shown() == ("in_progress", None, "Under way", [CANCEL])
    await local.press(scene.repository, scene.checks[-1], CANCEL, "alice")
    await scene.begun(3)
    await scene.flagged()
    await scene.tidy()
    assert scene.shown() == ("completed", "cancelled", "Cancelled", [AGAIN])


async def test_cancel_stops_the_task_and_says_nothing_more(scene: Scene) -> None:
    await scene.ask()
    await scene.at_work()
    await scene.stage.local.press(scene.repository, scene.checks[0], CANCEL, "alice")
    await scene.begun(2)
    await scene.flagged()
    await scene.tidy()
    task, button = await scene.stage.tasks()
    assert (task.ending, button.ending) == ("cancelled", "helped")
    assert scene.shown() == ("completed", "cancelled", "Cancelled", [AGAIN])
    (said,) = scene.said
    assert "Cancelled" in said


@pytest.mark.parametrize("how", ["press", "rerequest"])
async def test_run_again_and_githubs_own_rerun_do_the_same_once_more(scene: Scene, how: str) -> None:
    await scene.ask()
    await scene.tidy()
    local = scene.stage.local
    if how == "press":
        await local.press(scene.repository, scene.checks[0], AGAIN, "alice")
    else:
        await local.rerequest(scene.repository, scene.checks[0], "alice")
    await scene.tidy()
    first, second = await scene.stage.tasks()
    assert (second.work.asked, second.ending) == (first.work.asked, "changed")
    assert len(scene.checks) == 2
    assert scene.shown(1) == ("completed", "success", "Changed", [AGAIN])


@pytest.mark.parametrize("identifier", [CANCEL, AGAIN])
async def test_a17_a_button_pressed_by_somebody_who_may_not_does_nothing(scene: Scene, identifier: str) -> None:
    await scene.ask()
    await scene.at_work()
    await scene.stage.local.press(scene.repository, scene.checks[0], identifier, "bob")
    await scene.begun(2)
    task, button = await scene.stage.tasks()
    assert not task.cancel_requested
    (name,) = scene.stage.sandbox.boxes
    scene.stage.sandbox.end(name)
    await scene.tidy()
    task, button = await scene.stage.tasks()
    assert (task.ending, button.ending) == ("changed", "refused")
    assert len(scene.said) == 1


async def test_a_locked_pull_request_gets_its_result_in_the_check(scene: Scene) -> None:
    scene.issue.locked = True
    await scene.ask()
    await scene.at_work()
    assert scene.shown() == ("in_progress", None, "Under way", [CANCEL])
    assert "Preparing" in scene.checks[0].fields["output"]["summary"]
    (name,) = scene.stage.sandbox.boxes
    scene.stage.sandbox.end(name)
    await scene.tidy()
    task = await scene.stage.the_task()
    assert (task.ending, scene.said) == ("changed", [])
    assert scene.shown() == ("completed", "success", "Changed", [AGAIN])
    summary = scene.checks[0].fields["output"]["summary"]
    assert "+new" in summary
    assert "I did it." in summary
    assert "gofer:" not in summary
    assert sent(scene.stage.local, "issues/create-comment") == 2  # at the start and at the end, and not in between


async def test_locked_meanwhile_the_result_is_in_the_check(scene: Scene) -> None:
    await scene.ask()
    await scene.at_work()
    await scene.stage.local.lock(scene.repository, scene.issue)
    scene.stage.local.fail(Failure("issues/update-comment", 403, times=None, body=b'{"message":"locked"}'))
    (name,) = scene.stage.sandbox.boxes
    scene.stage.sandbox.end(name)
    await scene.tidy()
    task = await scene.stage.the_task()
    assert task.ending == "changed"
    assert scene.shown() == ("completed", "success", "Changed", [AGAIN])
    assert "+new" in scene.checks[0].fields["output"]["summary"]
    (said,) = scene.said
    assert said in just_begun(task)


async def test_without_the_permission_a_locked_pull_request_ends_the_task_before_it_costs_anything(
    scene: Scene,
) -> None:
    del scene.stage.local.app.permissions["checks"]
    scene.issue.locked = True
    await scene.ask()
    await scene.tidy()
    assert (await scene.stage.the_task()).ending == "undeliverable"
    assert scene.stage.sandbox.counts()["prepare"] == 0
    assert scene.checks == []


async def test_without_the_permission_nothing_is_wrong(scene: Scene) -> None:
    scene.stage.github.checks.on = False
    await scene.ask()
    await scene.tidy()
    assert ((await scene.stage.the_task()).ending, scene.checks, len(scene.said)) == ("changed", [], 1)
    assert sent(scene.stage.local, "checks/create") == 0


async def test_permission_lost_in_the_queue_of_a_locked_pull_request_is_told_in_the_check(scene: Scene) -> None:
    scene.issue.locked = True
    scene.stage.caps = type(scene.stage.caps)(running=1, per_repository=1)
    await scene.stage.restart()
    scene.stage.sandbox.automatic = None
    await scene.stage.local.comment(scene.stage.repository, scene.stage.issue, "alice", "/agent fix it")
    await scene.stage.until(lambda: scene.stage.sandbox.counts()["wait"] == 1)
    await scene.ask()
    await scene.stage.until(lambda: len(scene.checks) == 1)
    scene.stage.local.set_role(scene.repository, "alice", "read")
    scene.stage.clock.time += 120
    (name,) = scene.stage.sandbox.boxes
    scene.stage.sandbox.end(name)
    await scene.tidy()
    _, task = await scene.stage.tasks()
    assert task.ending == "refused"
    assert scene.shown() == ("completed", "neutral", "Not done", [AGAIN])
    (check,) = scene.stage.reader.checks(scene.repository)
    assert check.words == dropped(task.task_id, refused(Refusal.NO_WRITE))


async def test_a_checks_api_that_is_down_holds_no_agent_up_and_the_end_not_for_ever(scene: Scene) -> None:
    scene.stage.local.fail(Failure("checks/create", 503, times=None))
    await scene.ask()
    for _ in range(TRIES + 2):
        await scene.tidy()
        scene.stage.clock.time += 61
    await scene.tidy()
    task = await scene.stage.the_task()
    assert (task.ending, len(scene.said)) == ("changed", 1)
    assert scene.stage.sandbox.counts()["prepare"] == 1


async def test_a_failed_task_is_a_failed_check(scene: Scene) -> None:
    scene.stage.sandbox.automatic = Outcome(
        state=State.FAILED, reason=Reason.AGENT_ERROR, error="no", exit_code=1, duration_seconds=1.0
    )
    await scene.ask()
    await scene.tidy()
    assert scene.shown() == ("completed", "failure", "Failed", [AGAIN])
