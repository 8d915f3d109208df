"""status, cancel, retry, pr and diff, as comments."""

from __future__ import annotations

import pytest

from bot.comments import fetching
from bot.demo.github import Failure
from bot.steps.verbs import with_options
from bot.store import Caps
from bot.tasks import Command, Options, Verb
from sandbox import Budget, Outcome, Reason, State
from tests.bot.expected import status
from tests.bot.stage import Stage


async def working(talk: Stage, words: str = "/agent fix it") -> Outcome:
    """An agent is at work; the outcome that it would have."""
    talk.sandbox.automatic = None
    before = talk.sandbox.counts()["start"]
    await talk.say(words)
    await talk.until(lambda: talk.sandbox.counts()["start"] > before)
    assert talk.sandbox.does is not None
    return talk.sandbox.does(talk.jobs[-1])


async def seen(talk: Stage, words: str) -> str:
    """A comment of the bot's with these words, while an agent works on."""
    await talk.until(lambda: any(words in body for body in talk.said))
    return next(body for body in talk.said if words in body)


async def test_status_says_what_is_under_way_and_waits_with_links(talk: Stage) -> None:
    await working(talk)
    await talk.say("/agent then `this` too\n@octocat")
    await talk.until(lambda: any("Queued" in body for body in talk.said))
    talk.clock.time += 75
    await talk.say("/agent status")
    said = await seen(talk, "On this thread")
    first, second, _ = await talk.tasks()
    assert f"[working]({talk.local.git_url}/octo/repo/issues/1#issuecomment-{first.status_comment_id})" in said
    assert "for 1 min 15 s: `fix it`" in said
    assert "[waiting](" in said
    assert f"(task `{second.task_id}`)" in said


async def test_status_of_a_thread_where_nothing_happens(talk: Stage) -> None:
    await talk.say("/agent status")
    await talk.settle()
    assert "Nothing is under way" in talk.said[0]


async def test_cancel_stops_what_runs_and_what_waits_and_shows_how_far_it_got(talk: Stage) -> None:
    await working(talk)
    await talk.say("/agent then this")
    await talk.until(lambda: any("Queued" in body for body in talk.said))
    comment = await talk.say("/agent cancel")
    await talk.until(lambda: "+1" in talk.reactions(comment))
    await talk.beat()
    first, second, third = await talk.tasks()
    assert (first.ending, second.ending, third.ending) == ("cancelled", "cancelled", "helped")
    assert len(talk.jobs) == 1
    assert all("Cancelled" in body for body in talk.said)


async def test_what_waits_for_a_place_ends_at_once_when_it_is_cancelled(talk: Stage) -> None:
    await working(talk)
    other = talk.local.add_issue(talk.repository)
    third = talk.local.add_issue(talk.repository)
    talk.caps = Caps(running=1, per_repository=1)
    await talk.say("/agent b", issue=other)
    await talk.say("/agent c", issue=third)
    await talk.until(lambda: bool(talk.said_on(third)))
    comment = await talk.say("/agent cancel", issue=third)
    await talk.until(lambda: "+1" in talk.reactions(comment))
    await talk.until(lambda: any("Cancelled" in body for body in talk.said_on(third)))
    assert len(talk.jobs) <= 2


async def test_a17_cancel_by_somebody_who_may_not_stops_nothing(talk: Stage) -> None:
    found = await working(talk)
    comment = await talk.say("/agent cancel", user="bob")
    await talk.until(lambda: "-1" in talk.reactions(comment))
    talk.clock.time += 11
    await talk.runner.step()
    talk.sandbox.end(next(iter(talk.sandbox.boxes)), found)
    await talk.settle()
    assert (await talk.tasks())[0].ending == "changed"
    assert len(talk.said) == 1


async def test_cancel_where_there_is_nothing_says_so(talk: Stage) -> None:
    await talk.say("/agent cancel")
    await talk.settle()
    assert "nothing to cancel" in talk.said[0]


async def test_cancel_leaves_alone_what_is_asked_for_after_it(talk: Stage) -> None:
    await talk.say("/agent cancel")
    await talk.say("/agent fix it")
    await talk.settle()
    assert [task.ending for task in await talk.tasks()] == ["helped", "changed"]
    assert any("nothing to cancel" in body for body in talk.said)


async def test_deleted_comment_takes_back_what_waits(talk: Stage) -> None:
    await working(talk)
    comment = await talk.say("/agent then this")
    await talk.until(lambda: any("Queued" in body for body in talk.said))
    await talk.local.delete(talk.repository, talk.issue, comment)
    await talk.until(lambda: any("Cancelled" in body for body in talk.said))
    assert len(talk.jobs) == 1


async def test_retry_runs_again_with_the_options_that_are_named_anew(talk: Stage) -> None:
    await talk.say("/agent --budget=30s fix it")
    await talk.settle()
    first = await talk.last()
    await talk.say("/agent --pr retry")
    await talk.settle()
    again = await talk.last()
    assert len(talk.jobs) == 2
    assert again.work.asked == Command(
        verb=Verb.RUN, prompt="fix it", options=Options(result="pr", budget=Budget(wall_seconds=30))
    )
    assert talk.jobs[1].limits.wall_seconds == 30
    assert talk.jobs[1].source == talk.jobs[0].source  # not on top of what it repeats
    assert again.work.source_task == first.task_id
    assert len(talk.pulls()) == 1


async def test_retry_of_what_only_could_not_be_posted_posts_it(talk: Stage) -> None:
    refusing = talk.local.fail(Failure("issues/update-comment", 422, times=None))
    await talk.say("/agent fix it")
    await talk.settle()
    first = await talk.last()
    assert first.ending == "undeliverable"
    assert talk.said == [status(first, fetching())]
    talk.local.failures.remove(refusing)
    await talk.say("/agent retry")
    await talk.settle()
    assert len(talk.jobs) == 1
    assert "+# Hello!" in talk.said[-1]
    assert (await talk.last()).ending == "changed"


async def test_retry_where_nothing_was_asked_and_while_it_runs(talk: Stage) -> None:
    await talk.say("/agent retry")
    await talk.settle()
    assert "no earlier task" in talk.said[0]
    await working(talk)
    await talk.say("/agent retry")
    assert "Not started twice" in await seen(talk, "Not started twice")
    assert len(talk.jobs) == 1


async def test_retry_passes_over_questions_and_what_was_refused(talk: Stage) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    await talk.say("/agent --agent nobody do more")
    await talk.say("/agent help")
    await talk.settle()
    assert any("There is no agent `nobody` here." in body for body in talk.said)
    await talk.say("/agent retry")
    await talk.settle()
    assert len(talk.jobs) == 2
    work = (await talk.last()).work
    assert work.asked is not None
    assert work.asked.prompt == "fix it"


async def test_pr_brings_the_last_result_without_running_again_and_never_twice(talk: Stage) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    await talk.say("/agent --ready pr")
    await talk.settle()
    (issue,) = talk.pulls()
    assert issue.pull is not None
    assert not issue.pull.draft
    assert len(talk.jobs) == 1
    assert talk.file(issue.pull.head_ref) == b"# Hello!\n"
    await talk.say("/agent pr")
    await talk.settle()
    assert len(talk.pulls()) == 1
    assert f"The last result is in #{issue.number}" in talk.said[-1]


async def test_diff_shows_the_last_result_and_pushes_nothing(talk: Stage) -> None:
    await talk.say("/agent --pr fix it")
    await talk.settle()
    (issue,) = talk.pulls()
    assert issue.pull is not None
    before = talk.head(issue.pull.head_ref)
    await talk.say("/agent diff")
    await talk.settle()
    assert "+# Hello!" in talk.said[-1]
    assert talk.head(issue.pull.head_ref) == before
    assert (len(talk.jobs), len(talk.pulls())) == (1, 1)


@pytest.mark.parametrize("verb", ["pr", "diff"])
async def test_where_there_is_no_result_there_is_none_to_show(talk: Stage, verb: str) -> None:
    await talk.say(f"/agent {verb}")
    await talk.settle()
    assert "no stored result" in talk.said[0]


async def test_pr_of_a_task_that_failed_opens_nothing(talk: Stage) -> None:
    does = talk.sandbox.does
    assert does is not None
    talk.sandbox.does = lambda job: does(job).model_copy(update={"state": State.FAILED, "reason": Reason.EXIT})
    await talk.say("/agent fix it")
    await talk.settle()
    await talk.say("/agent pr")
    await talk.settle()
    assert talk.pulls() == []


def test_only_what_is_named_anew_is_changed() -> None:
    asked = Command(verb=Verb.RUN, prompt="p", options=Options(model="m", result="diff"))
    assert with_options(asked, Options()) == asked
    given = Options(result="pr", budget=Budget(cost_usd=2))
    assert with_options(asked, given).options == Options(model="m", result="pr", budget=Budget(cost_usd=2))
