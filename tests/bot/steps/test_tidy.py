"""Older comments of ours are hidden when a new task begins on the thread: once, and nobody else's."""

from __future__ import annotations

from dataclasses import replace

from bot.demo.github import Failure
from bot.steps.tidy import older
from bot.store import Task
from bot.tasks import TaskState
from bot.work import Work
from tests.bot.stage import Stage
from tests.github_world import sent


def hidden(stage: Stage) -> list[bool]:
    """Of the thread's comments, which are hidden."""
    return [comment.minimised == "OUTDATED" for comment in stage.issue.comments]


async def test_the_result_of_the_task_before_is_hidden_when_the_next_begins(stage: Stage) -> None:
    await stage.ask("one")
    await stage.settle()
    assert hidden(stage) == [False, False]
    await stage.ask("two")
    await stage.settle()
    assert hidden(stage) == [False, True, False, False]
    assert [task.work.tidied for task in await stage.tasks()] == [True, True]


async def test_each_is_hidden_once_however_many_there_are(stage: Stage) -> None:
    for number in range(4):
        await stage.ask(f"do {number}")
        await stage.settle()
    assert hidden(stage) == [False, True] * 3 + [False, False]
    minimised = [one for one in stage.local.log if b"minimizeComment" in one.request_body]
    assert len(minimised) == 3


async def test_a_comment_that_is_not_ours_is_never_hidden(stage: Stage) -> None:
    """Whatever the rows say: GitHub is asked whose it is."""
    await stage.ask("one")
    await stage.settle()
    (comment,) = stage.local.bot_comments(stage.issue)
    comment.by_app, comment.user = False, stage.local.state.user("mallory")
    await stage.ask("two")
    await stage.settle()
    assert not any(hidden(stage))


async def test_what_cannot_be_hidden_costs_nothing(stage: Stage) -> None:
    await stage.ask("one")
    await stage.settle()
    stage.local.fail(Failure("issues/get-comment", 503, times=None))
    await stage.ask("two")
    await stage.settle()
    assert [task.ending for task in await stage.tasks()] == ["changed", "changed"]
    assert not any(hidden(stage))
    stage.local.failures.clear()
    await stage.settle()
    assert not any(hidden(stage))  # once


async def test_a_comment_that_is_gone_is_passed_over(stage: Stage) -> None:
    for text in ("one", "two"):
        await stage.ask(text)
        await stage.settle()
        stage.issue.comments.remove(stage.local.bot_comments(stage.issue)[-1])
    assert sent(stage.local, "issues/get-comment") == 1
    assert (await stage.tasks())[-1].ending == "changed"


async def test_which_are_older_is_read_off_the_rows(stage: Stage) -> None:
    await stage.ask("one")
    await stage.settle()
    done = await stage.the_task()

    def task(seq: int, comment: int, *, state: TaskState = TaskState.DONE, tidied: bool = False) -> Task:
        return replace(
            done, seq=seq, status_comment_id=comment, result_comment_id=comment + 1, state=state,
            work=Work(tidied=tidied),
        )  # fmt: skip

    def of(*tasks: Task) -> tuple[int, ...]:
        return older(task(10, 100), tasks)

    assert of(task(10, 100), task(9, 90), task(8, 80)) == (91, 90, 81, 80)
    assert of(task(11, 110), task(9, 90)) == (91, 90)
    assert of(task(9, 90, state=TaskState.RUNNING), task(8, 80)) == (81, 80)
    assert of(task(9, 90, tidied=True), task(8, 80)) == (91, 90)
