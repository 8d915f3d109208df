"""Who is let in, what he is told, and what strangers cost."""

from __future__ import annotations

import pytest

from bot.demo.github import Failure
from bot.steps.admit import ASK_FOR
from bot.tasks import Verb
from tests.bot.stage import Stage


async def test_a01_asker_who_may_not_gets_one_quiet_reaction(stage: Stage) -> None:
    comment = await stage.ask(user="bob")
    await stage.settle()
    assert (await stage.the_task()).ending == "refused"
    assert (stage.said, stage.reactions(comment)) == ([], ["-1"])
    assert stage.sandbox.calls == [("handles", "")]


async def test_repository_that_is_not_served_costs_no_request_and_gets_no_answer(stage: Stage) -> None:
    theirs = stage.local.add_repository("mallory", "own", {}, roles={"mallory": "admin"})
    issue = stage.local.add_issue(theirs)
    asked = len(stage.local.log)
    comment = await stage.ask(user="mallory", repository=theirs, issue=issue)
    await stage.settle()
    assert (await stage.the_task()).ending == "refused"
    assert len(stage.local.log) == asked
    assert (stage.local.bot_comments(issue), stage.reactions(comment)) == ([], [])


async def test_w19_installation_that_does_not_serve_the_repository_gets_no_answer(stage: Stage) -> None:
    foreign = stage.local.add_repository("octo", "other", {}, roles={"alice": "admin"})
    issue = stage.local.add_issue(foreign)
    installation = stage.local.installation(foreign.owner)
    comment = await stage.ask(repository=foreign, issue=issue)
    installation.repository_ids.remove(foreign.id)
    await stage.settle()
    assert (await stage.the_task()).ending == "refused"
    assert stage.local.bot_comments(issue) == []
    assert stage.reactions(comment) == []


async def test_b32_program_with_a_trusting_name_is_refused_in_silence(stage: Stage) -> None:
    stage.local.set_role(stage.repository, "evil[bot]", "admin")
    comment = await stage.ask(user="evil[bot]", user_type="Bot")
    await stage.settle()
    assert (await stage.the_task()).ending == "refused"
    assert (stage.said, stage.reactions(comment)) == ([], [])


async def test_help_is_answered_while_all_places_are_taken(stage: Stage) -> None:
    stage.sandbox.automatic = None
    for _ in range(3):
        issue = stage.local.add_issue(stage.repository)
        await stage.ask(issue=issue)
    await stage.until(lambda: stage.sandbox.counts()["wait"] >= 2)
    await stage.ask("help", verb=Verb.HELP)
    await stage.runner.step()
    said = await stage.local.await_comment(lambda c: c.by_app and "Commands" in c.body)
    assert ":help -->" in said.body


async def test_command_on_a_pull_request_is_carried_out(stage: Stage) -> None:
    issue = await stage.local.open_pull(stage.repository, {"f": b"old\n"}, user="alice")
    await stage.ask(issue=issue)
    await stage.settle()
    assert (await stage.the_task()).ending == "changed"
    (said,) = stage.local.bot_comments(issue)
    assert "+new" in said.body


async def test_a02_github_that_cannot_be_asked_is_asked_again_and_never_taken_for_a_yes(stage: Stage) -> None:
    outage = stage.local.fail(Failure("*", 503, times=None))
    await stage.ask()
    for _ in range(3):
        await stage.settle()
        assert (await stage.the_task()).state == "queued"
        stage.clock.time += 61
    assert stage.sandbox.boxes == {}
    assert stage.said == []

    stage.local.failures.remove(outage)
    stage.clock.time += 61
    await stage.settle()
    assert (await stage.the_task()).ending == "changed"
    assert len(stage.said) == 1


async def test_a02_github_that_could_not_be_asked_for_a_day_means_no(stage: Stage) -> None:
    outage = stage.local.fail(Failure("*", 503, times=None))
    await stage.ask()
    await stage.settle()
    stage.clock.time += ASK_FOR + 1
    await stage.settle()
    assert (await stage.the_task()).ending == "refused"
    stage.local.failures.remove(outage)


async def test_reaction_that_fails_stops_nothing(stage: Stage) -> None:
    stage.local.fail(Failure("reactions/create-for-issue-comment", 502, times=None))
    await stage.ask()
    await stage.settle()
    assert (await stage.the_task()).ending == "changed"


@pytest.mark.parametrize("status", [403, 404, 410])
async def test_thread_that_takes_no_comment_runs_no_agent(stage: Stage, status: int) -> None:
    stage.local.fail(Failure("issues/create-comment", status, times=None))
    await stage.ask()
    await stage.settle()
    assert (await stage.the_task()).ending == "undeliverable"
    assert stage.sandbox.counts()["prepare"] == 0


async def test_b82_comment_made_by_a_call_that_failed_is_found_and_not_made_again(stage: Stage) -> None:
    stage.local.fail(Failure("issues/create-comment", 502, after_effect=True))
    await stage.ask()
    await stage.settle()
    stage.clock.time += 61
    await stage.settle()
    assert (await stage.the_task()).ending == "changed"
    assert len(stage.said) == 1
