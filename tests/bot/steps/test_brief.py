"""What the sandbox is given: frozen once, and no more than the rules allow."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

import pytest

from bot.demo.github import Failure
from bot.repo_rules import OperatorRules
from bot.steps.brief import as_asked
from bot.threads import Said, Thread
from sandbox import Setup, Unreachable
from tests.bot.expected import just_begun
from tests.bot.stage import Stage
from tests.bot.steps.test_verbs import working

AT = datetime(2026, 3, 1, tzinfo=UTC)


def set_operator(talk: Stage, **more: object) -> None:
    rules = talk.runner.world.rules
    operator = OperatorRules.model_validate({**rules.operator.model_dump(), **more})
    talk.runner.world = dataclasses.replace(talk.runner.world, rules=dataclasses.replace(rules, operator=operator))


def configure(talk: Stage, text: str) -> None:
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": text.encode()})


def test_the_title_is_the_one_of_the_event_whatever_it_is_by_now() -> None:
    said = Said(kind="title", id=1, author=None, body="evil", created_at=AT, edited_at=AT)
    body = said.model_copy(update={"kind": "body"})
    thread = Thread(
        number=1, is_pull_request=False, title="evil", state="open", locked=False, author=None, said=(said, body)
    )
    made = as_asked(thread, "good")
    assert (made.title, made.said[0].body, made.said[0].edited_at) == ("good", "good", None)
    assert made.said[1] == body
    assert as_asked(thread, "") is thread


async def test_b38_what_is_changed_or_said_after_the_command_is_not_told(talk: Stage) -> None:
    talk.issue.title, talk.issue.body = "The title of then", "The description of then"
    talk.sandbox.hang.add("handles")
    talk.local.fail(Failure("repos/get", 503, times=1))
    await talk.say("/agent fix it")
    await talk.local.edit_thread(talk.repository, talk.issue, title="Evil title", body="Evil body")
    talk.sandbox.hang.clear()
    await talk.settle()
    talk.clock.time += 61
    await talk.settle()
    prompt = talk.jobs[0].prompt
    assert "The title of then" in prompt
    assert "Evil" not in prompt
    assert "the description changed after the request" in (await talk.the_task()).work.left_out
    assert "the description changed after the request" in talk.said[0]


async def test_only_people_who_may_write_are_told_of_unless_the_repository_says_so(talk: Stage) -> None:
    await talk.say("a drive-by remark", user="mallory")
    await talk.say("/agent --diff fix it")
    await talk.settle()
    assert "drive-by" not in talk.jobs[0].prompt
    configure(talk, "context: everyone\n")
    talk.clock.time += 11
    await talk.say("/agent --diff now fix it")
    await talk.settle()
    assert "drive-by" in talk.jobs[1].prompt


async def test_the_prompt_is_frozen_once_however_often_the_sandbox_is_tried(talk: Stage) -> None:
    talk.sandbox.trouble["prepare"] = Unreachable("no daemon")
    await talk.say("/agent fix it")
    await talk.settle()
    frozen = (await talk.the_task()).work.prompt
    assert frozen
    await talk.say("more words of mine")
    del talk.sandbox.trouble["prepare"]
    talk.clock.time += 61
    await talk.settle()
    assert talk.jobs[0].prompt == frozen


async def test_a_repository_s_setup_instructions_and_destinations_reach_the_sandbox(talk: Stage) -> None:
    set_operator(talk, destinations=("npm", "pypi"))
    configure(talk, "setup: {commands: [make deps]}\ninstructions: Be brief.\nallowed_destinations: [npm]\n")
    await talk.say("/agent fix it")
    await talk.settle()
    (job,) = talk.jobs
    assert job.setup == Setup(commands=("make deps",))
    assert job.destinations == ("npm",)
    assert "Be brief." in job.prompt


async def test_without_a_word_of_the_repository_s_the_operator_s_list_is_the_sandbox_s_own_to_know(talk: Stage) -> None:
    set_operator(talk, destinations=("npm", "pypi"))
    await talk.say("/agent fix it")
    await talk.settle()
    assert talk.jobs[0].destinations is None
    set_operator(talk, destinations=())
    configure(talk, "allowed_destinations: []\n")
    talk.clock.time += 11
    await talk.say("/agent now fix it")
    await talk.settle()
    assert talk.jobs[1].destinations == ()


@pytest.mark.parametrize(("words", "model"), [("fix it", "m1"), ("--model=m2 fix it", "m2")])
async def test_the_model_is_the_one_that_was_chosen(talk: Stage, words: str, model: str) -> None:
    set_operator(talk, agents={"claude": ("m1", "m2")})
    await talk.say(f"/agent {words}")
    await talk.settle()
    assert (talk.jobs[0].model, talk.jobs[0].agent) == (model, "claude")


async def test_a_runner_elsewhere_takes_its_own_default_unless_somebody_names_another(talk: Stage) -> None:
    set_operator(talk, agents={"claude": ("m1", "m2")})
    world = talk.runner.world
    talk.runner.world = dataclasses.replace(world, rules=dataclasses.replace(world.rules, model=None, agent=None))
    await talk.say("/agent fix it")
    await talk.settle()
    configure(talk, "default: {model: m2}\n")
    talk.clock.time += 11
    await talk.say("/agent now fix it")
    await talk.settle()
    assert [job.model for job in talk.jobs] == [None, "m2"]
    assert "agent" not in talk.jobs[0].model_fields_set


# What ends a thread while a task of it is under way.


@pytest.mark.parametrize("how", ["locked", "deleted", "transferred"])
async def test_a13_a_thread_that_ends_while_a_task_waits_ends_it_in_silence(talk: Stage, how: str) -> None:
    await working(talk)
    other = talk.local.add_issue(talk.repository)
    await talk.say("/agent wait", issue=other)
    third = talk.local.add_issue(talk.repository)
    await talk.say("/agent wait", issue=third)
    await talk.until(lambda: any("Queued" in body for body in talk.said_on(third)))
    said = list(talk.said_on(third))
    if how == "locked":
        await talk.local.lock(talk.repository, third)
    else:
        third.deleted, third.moved_to = how == "deleted", talk.local.url + "/x" if how == "transferred" else ""
        event = talk.local._events.issues(how, talk.repository, third, talk.repository.owner)
        await talk.local._tell("issues", talk.repository, event)
    for _ in range(100):
        await talk.runner.step()
        if (await talk.last()).state == "done":
            break
        await talk.so(lambda: True)
    assert (await talk.last()).state == "done"
    now = talk.said_on(third)
    assert len(now) == len(said)  # nobody is told of it; what was said may say how it ended
    assert how == "locked" or now == said


async def test_o14_a_result_never_follows_an_issue_to_another_place(talk: Stage) -> None:
    found = await working(talk)
    elsewhere = talk.local.add_repository("octo", "public", {"f": b""})
    there = talk.local.add_issue(elsewhere)
    talk.issue.moved_to = f"{talk.local.url}/repos/octo/public/issues/{there.number}"
    talk.sandbox.end(next(iter(talk.sandbox.boxes)), found)
    await talk.settle()
    task = await talk.the_task()
    assert (task.state, task.ending) == ("done", "undeliverable")
    assert talk.said_on(there) == []
    (said,) = talk.said
    assert said in just_begun(task)
    assert await talk.store.patch(task.task_id)


@pytest.mark.parametrize("what", ["suspended", "taken out", "deleted"])
async def test_an_installation_that_ends_meanwhile_ends_its_tasks_and_keeps_the_result(talk: Stage, what: str) -> None:
    await working(talk, "/agent --pr fix it")
    installation = talk.local.state.installation_of(talk.repository)
    assert installation is not None
    if what == "taken out":
        await talk.local.take_out(talk.repository)
    else:
        await talk.local.change_installation(installation, "suspend" if what == "suspended" else "deleted")
    await talk.beat()
    task = await talk.the_task()
    assert task.state == "done"
    assert talk.pulls() == []
    assert talk.sandbox.boxes == {}
    (said,) = talk.said
    assert said in just_begun(task)
