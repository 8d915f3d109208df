"""A held task goes step by step, and every kind of failure has its own way on."""

from __future__ import annotations

import pytest

from bot.demo.github import Failure
from bot.steps.drive import LONGEST_PAUSE, SURPRISES, pause
from bot.store.store import LEASE_SECONDS
from bot.tasks import Verb
from tests.bot.stage import Stage
from tests.bot.steps.test_watch import running


def test_pauses_grow_and_end_growing() -> None:
    pauses = [pause(n) for n in range(40)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (2.0, LONGEST_PAUSE)


@pytest.mark.parametrize("call", ["prepare", "start", "wait", "outcome"])
async def test_error_that_nobody_foresaw_ends_in_an_answer_to_the_asker(stage: Stage, call: str) -> None:
    stage.sandbox.automatic = None if call == "wait" else stage.sandbox.automatic
    stage.sandbox.trouble[call] = ZeroDivisionError("secret detail")
    await stage.ask()
    for _ in range(SURPRISES + 3):
        await stage.settle()
        stage.clock.time += 61
    assert (await stage.the_task()).ending == "failed"
    (said,) = stage.said
    assert "error inside this bot" in said
    assert "secret detail" not in said
    assert stage.sandbox.boxes == {}


async def test_worker_that_lost_its_lease_says_and_writes_nothing_more(stage: Stage) -> None:
    """It was frozen; another worker has gone on meanwhile."""
    name = await running(stage)
    stage.clock.time += LEASE_SECONDS
    (task,) = await stage.store.claim("other", stage.caps)
    said = list(stage.said)
    stage.sandbox.end(name)
    await stage.runner.idle()

    assert stage.said == said
    assert await stage.store.task(task.task_id) == task
    assert stage.sandbox.counts()["remove"] == 0


async def test_beat_finds_out_that_another_worker_has_the_task(stage: Stage) -> None:
    await running(stage)
    stage.clock.time += LEASE_SECONDS
    await stage.store.claim("other", stage.caps)
    await stage.runner.step()
    await stage.runner.idle()
    assert not stage.runner.working
    assert stage.sandbox.counts()["remove"] == stage.sandbox.counts()["outcome"] == 0


BEFORE_AN_AGENT = [
    "repos/get",
    "issues/list-comments",
    "issues/create-comment",
    "apps/create-installation-access-token",
]


@pytest.mark.parametrize("operation", BEFORE_AN_AGENT)
async def test_v10_task_that_github_keeps_from_its_agent_for_a_day_lets_go_of_its_place(
    stage: Stage, operation: str
) -> None:
    broken = stage.local.fail(Failure(operation, 503, times=None))
    await stage.ask()
    for _ in range(30):
        await stage.settle()
        stage.clock.time += 3601
    task = await stage.the_task()
    assert task.state == "done"
    assert task.ending in {"refused", "undeliverable"}
    assert broken.hits < 31 * 4
    assert stage.sandbox.counts()["prepare"] == 0
    assert await stage.store.running() == 0


async def test_task_that_got_no_fetch_token_for_a_day_is_answered(stage: Stage) -> None:
    await stage.ask(verb=Verb.HELP)
    await stage.settle()  # the tokens to ask and to write are there now
    await stage.ask()
    broken = stage.local.fail(Failure("apps/create-installation-access-token", 503, times=None))
    for _ in range(26):
        await stage.settle()
        stage.clock.time += 3601
    stage.local.failures.remove(broken)
    assert (await stage.tasks())[-1].ending == "failed"
    assert "For a day GitHub could not be asked" in stage.said[-1]
    assert stage.sandbox.counts()["prepare"] == 0


@pytest.mark.parametrize("verb", [Verb.HELP, Verb.RUN])
async def test_b79_app_whose_key_github_does_not_take_for_a_while_loses_no_task(stage: Stage, verb: Verb) -> None:
    refusing = stage.local.fail(Failure("apps/create-installation-access-token", 401, times=None))
    await stage.ask(verb=verb)
    await stage.settle()
    assert (await stage.the_task()).state == "queued"
    stage.local.failures.remove(refusing)
    stage.clock.time += 61
    await stage.settle()
    assert (await stage.the_task()).ending == ("changed" if verb is Verb.RUN else "helped")
