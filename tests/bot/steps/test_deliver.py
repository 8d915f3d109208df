"""The end of a task: one comment with the result, whatever happens on the way."""

from __future__ import annotations

import pytest

from bot.demo.github import Failure
from bot.jobs import not_prepared
from bot.steps.deliver import GIVE_UP_AFTER, body_of, safely
from sandbox import Outcome, Reason, Unreachable
from tests.bot.fake_sandbox import CHANGED
from tests.bot.stage import Stage


async def test_whole_life_leaves_one_comment_with_the_diff_and_no_sandbox(stage: Stage) -> None:
    comment = await stage.ask()
    await stage.settle()

    task = await stage.the_task()
    assert (task.state, task.ending) == ("done", "changed")
    (said,) = stage.said
    assert "+new" in said
    assert task.result_comment_id == task.status_comment_id
    assert stage.reactions(comment) == ["eyes"]
    assert stage.sandbox.boxes == {}
    assert await stage.store.patch(task.task_id) is not None


async def test_b83_github_down_at_the_end_loses_no_result_and_runs_nothing_again(stage: Stage) -> None:
    outage = stage.local.fail(Failure("issues/update-comment", 503, times=None))
    await stage.ask()
    for _ in range(3):
        await stage.settle()
        assert (await stage.the_task()).state == "publishing"
        assert stage.sandbox.boxes == {}  # no disk is held for GitHub's sake
        stage.clock.time += 61
    stage.local.failures.remove(outage)
    await stage.settle()
    assert (await stage.the_task()).ending == "changed"
    assert stage.sandbox.counts()["prepare"] == 1
    (said,) = stage.said
    assert "+new" in said


async def test_result_that_could_not_be_posted_for_a_day_is_kept_and_given_up(stage: Stage) -> None:
    outage = stage.local.fail(Failure("issues/update-comment", 503, times=None))
    await stage.ask()
    await stage.settle()
    stage.clock.time += GIVE_UP_AFTER
    await stage.settle()
    task = await stage.the_task()
    assert (task.state, task.ending) == ("done", "undeliverable")
    assert await stage.store.patch(task.task_id)
    stage.local.failures.remove(outage)


async def test_thread_locked_meanwhile_ends_the_task_with_the_patch_kept(stage: Stage) -> None:
    stage.local.fail(Failure("issues/update-comment", 403, times=None, body=b'{"message":"Unable: locked"}'))
    await stage.ask()
    await stage.settle()
    task = await stage.the_task()
    assert task.ending == "undeliverable"
    assert await stage.store.patch(task.task_id)
    assert stage.sandbox.boxes == {}


async def test_engine_that_cannot_be_asked_at_the_end_keeps_nobody_waiting(stage: Stage) -> None:
    stage.sandbox.trouble["remove"] = Unreachable("no daemon")
    await stage.ask()
    await stage.settle()
    assert (await stage.the_task()).ending == "changed"
    assert len(stage.sandbox.boxes) == 1
    stage.sandbox.trouble.clear()
    stage.clock.time += 31
    await stage.settle()
    assert stage.sandbox.boxes == {}


@pytest.mark.parametrize(
    ("reason", "words"),
    [(Reason.FETCH_FAILED, "could not be fetched"), (Reason.CANCELLED, "Cancelled"), (Reason.LOST, "before it began")],
)
def test_task_that_never_ran_says_that_no_agent_ran(reason: Reason, words: str) -> None:
    body = body_of("abc", not_prepared(reason, "why it was"))
    assert words in body
    assert body.endswith("<!-- gofer:abc:result -->")


def test_every_body_holds_the_marker_it_is_found_by() -> None:
    for outcome in (None, CHANGED, not_prepared(Reason.DISK_FULL, "")):
        assert "<!-- gofer:abc:result -->" in body_of("abc", outcome)


def test_result_that_cannot_be_rendered_is_told_all_the_same() -> None:
    def broken(task_id: str, outcome: Outcome | None) -> str:
        raise ZeroDivisionError

    body = safely(broken, "abc", CHANGED)
    assert "it is stored" in body
    assert body.endswith("<!-- gofer:abc:result -->")
