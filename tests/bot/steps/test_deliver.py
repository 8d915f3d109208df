"""The end of a task: one comment with the result, whatever happens on the way."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from bot.comments import fetching
from bot.demo.github import Failure
from bot.jobs import not_prepared
from bot.steps.deliver import GIVE_UP_AFTER, bare_of, body_of, safely
from bot.steps.publish import Brought
from bot.store import Task
from bot.store.schema import results
from sandbox import Outcome, Reason, Unreachable
from tests.bot.a_task import a_task
from tests.bot.expected import status
from tests.bot.fake_sandbox import CHANGED
from tests.bot.stage import Stage

TASK = a_task("abc")
NOWHERE = Brought(TASK, None)


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
    assert stage.said == [status(task, fetching())]
    assert await stage.store.patch(task.task_id)
    stage.local.failures.remove(outage)


async def test_thread_locked_meanwhile_ends_the_task_with_the_patch_kept(stage: Stage) -> None:
    stage.local.fail(Failure("issues/update-comment", 403, times=None, body=b'{"message":"Unable: locked"}'))
    await stage.ask()
    await stage.settle()
    task = await stage.the_task()
    assert task.ending == "undeliverable"
    assert stage.said == [status(task, fetching())]
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
    body = body_of(TASK, not_prepared(reason, "why it was"), NOWHERE)
    assert words in body
    assert body.endswith("<!-- gofer:abc:result -->")


def test_every_body_holds_the_marker_it_is_found_by() -> None:
    for outcome in (None, CHANGED, not_prepared(Reason.DISK_FULL, "")):
        assert "<!-- gofer:abc:result -->" in body_of(TASK, outcome, NOWHERE)


def test_result_that_cannot_be_rendered_is_told_all_the_same() -> None:
    def broken(task: Task, outcome: Outcome | None, brought: Brought) -> str:
        raise ZeroDivisionError

    body = safely(broken, TASK, CHANGED, NOWHERE)
    assert "it is stored" in body
    assert body.endswith("<!-- gofer:abc:result -->")


async def test_b53_a_result_that_github_does_not_take_is_told_without_the_agents_words(stage: Stage) -> None:
    stage.local.fail(Failure("issues/update-comment", 422, body=b'{"message":"Validation Failed"}'))
    await stage.ask()
    await stage.settle()
    task = await stage.the_task()
    assert task.ending == "changed"
    (said,) = stage.said
    assert "Done" in said
    assert f"gofer patch {task.task_id}" in said
    assert "I did it." not in said
    assert "+new" not in said


async def test_a_result_that_github_takes_in_no_form_is_given_up_and_kept(stage: Stage) -> None:
    refusing = stage.local.fail(Failure("issues/update-comment", 422, times=None))
    await stage.ask()
    await stage.settle()
    task = await stage.the_task()
    assert (task.ending, refusing.hits) == ("undeliverable", 2)
    assert stage.said == [status(task, fetching())]
    assert await stage.store.patch(task.task_id)


def test_a_bare_comment_says_what_became_of_it_and_nothing_that_is_not_ours() -> None:
    for outcome in (None, CHANGED, not_prepared(Reason.FETCH_FAILED, "words of git")):
        body = bare_of(TASK, outcome, NOWHERE)
        assert body.endswith("<!-- gofer:abc:result -->")
        assert body.split("\n")[0] == body_of(TASK, outcome, NOWHERE).split("\n")[0]
        assert "words of git" not in body


async def test_a_damaged_outcome_is_told_to_its_asker(stage: Stage) -> None:
    stage.sandbox.hang.add("remove")
    outage = stage.local.fail(Failure("issues/update-comment", 503, times=None))
    await stage.ask()
    await stage.until(lambda: stage.sandbox.counts()["remove"] == 1)
    await stage.store._run(lambda c, _: c.execute(update(results).values(outcome='{"of": "another version"}')))
    stage.local.failures.remove(outage)
    stage.sandbox.hang.clear()
    stage.sandbox.changed.set()
    await stage.settle()
    stage.clock.time += 61
    await stage.settle()
    (said,) = stage.said
    assert "cannot be read from the bot's database" in said
    assert (await stage.the_task()).state == "done"
