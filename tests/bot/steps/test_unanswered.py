"""What no webhook told of is looked for where this bot is asked, once, at little cost, and each kind by itself."""

from __future__ import annotations

from datetime import timedelta

from bot.demo.github import Failure
from bot.steps.unanswered import Unanswered
from tests.bot.hooked import Door
from tests.bot.looking import LATER, looked
from tests.bot.stage import Stage
from tests.github_world import sent

COMMENTS = "issues/list-comments-for-repo"
THREADS = "issues/list-for-repo"
LINES = "pulls/list-review-comments-for-repo"
README = {"README.md": b"more\n"}


async def test_b19_a_command_of_which_no_webhook_was_made_is_carried_out_once(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    await stage.local.disconnect_webhook()
    await stage.say("/agent two")
    await stage.say("no command")
    await stage.say("/agent three", user="bob")
    assert len(await looked(stage, 0)) == 1, "a webhook may be under way"
    for _ in range(2):
        prompts = [task.request.command.prompt for task in await looked(stage)]
        assert prompts == ["one", "two", "three"]
    await stage.settle()
    assert [task.ending for task in await stage.tasks()] == ["changed", "changed", "refused"]


async def test_what_was_asked_before_this_bots_time_is_not_carried_out(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await stage.local.disconnect_webhook()
    comment = await stage.say("/agent of an earlier bot")
    comment.created_at = comment.updated_at = comment.created_at - timedelta(hours=1)
    assert await looked(stage) == []
    assert sent(stage.local, COMMENTS) == 0
    await door.close()
    await door.open()
    await stage.say("/agent one")
    assert [task.request.command.prompt for task in await looked(stage)] == ["one"]


async def test_the_same_runner_asks_for_what_it_knows_once(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    stage.clock.time += LATER
    looks = Unanswered(stage.runner.world)
    for _ in range(3):
        await looks.look()
    asked = [one.operation for one in stage.local.log if one.operation != "apps/create-installation-access-token"]
    assert sorted(asked) == sorted([COMMENTS, THREADS] * 3 + ["graphql", "issues/get", "repos/get"])


async def test_lines_are_asked_for_only_where_a_pull_request_has_changed(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    await looked(stage)
    assert sent(stage.local, LINES) == 0
    await stage.local.open_pull(stage.repository, README)
    await looked(stage)
    assert sent(stage.local, LINES) == 1


async def test_a_repository_that_is_not_served_any_more_is_not_looked_at(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    stage.served = "another"
    await stage.restart()
    await looked(stage)
    assert (sent(stage.local, COMMENTS), sent(stage.local, THREADS)) == (0, 0)


async def test_what_github_refuses_of_one_kind_keeps_no_other_from_being_found(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    pull = await stage.local.open_pull(stage.repository, README)
    await stage.say("/agent one")
    await stage.local.disconnect_webhook()
    await stage.local.review_comment(stage.repository, pull, "alice", "/agent on a line")
    await stage.local.label(stage.repository, stage.issue, "agent", "alice")
    stage.local.fail(Failure(COMMENTS, 403, times=None))
    lines = stage.local.fail(Failure(LINES, 403, times=None))
    assert [task.request.trigger for task in await looked(stage)] == ["comment", "label"]
    stage.local.failures.remove(lines)
    stage.local.fail(Failure(THREADS, 410, times=None))
    assert len(await looked(stage)) == 3, "a repository without issues has no list of threads"


async def test_a_github_that_does_not_answer_is_asked_again_with_the_next_look(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    await stage.local.disconnect_webhook()
    await stage.say("/agent two")
    outage = stage.local.fail(Failure(COMMENTS, 503, times=None))
    assert len(await looked(stage)) == 1
    stage.local.failures.remove(outage)
    assert len(await looked(stage)) == 2
