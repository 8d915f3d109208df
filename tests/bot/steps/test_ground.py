"""Where the work starts from."""

from __future__ import annotations

from bot.steps.prepare import UNFIT
from sandbox import PrepareFailed, Reason, State
from tests.bot.results import PATCH
from tests.bot.stage import Stage
from tests.bot.steps.test_publish import opened


async def test_a_follow_up_goes_on_from_the_last_result_that_is_in_no_pull_request(talk: Stage) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    first = await talk.last()
    await talk.say("/agent and the other one")
    await talk.settle()
    source = talk.jobs[1].source
    assert source is not None
    assert (source.patch, source.commit) == (PATCH, None)
    assert f"goes on from the result of task `{first.task_id}`" in talk.said[-1]


async def test_what_failed_is_nothing_to_go_on_from(talk: Stage) -> None:
    does = talk.sandbox.does
    assert does is not None
    talk.sandbox.does = lambda job: does(job).model_copy(update={"state": State.FAILED, "reason": Reason.DEADLINE})
    await talk.say("/agent fix it")
    await talk.settle()
    talk.sandbox.does = does
    await talk.say("/agent and the other one")
    await talk.settle()
    source = talk.jobs[1].source
    assert source is not None
    assert source.patch is None


async def test_an_earlier_result_that_does_not_fit_any_more_is_left_out_and_that_is_said(talk: Stage) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    first = await talk.last()
    talk.sandbox.unfit = PrepareFailed(Reason.FETCH_FAILED, f"{UNFIT}no longer fits the commit: x.")
    await talk.say("/agent and the other one")
    await talk.settle()
    source = talk.jobs[-1].source
    assert source is not None
    assert source.patch is None
    assert f"The result of task `{first.task_id}` does not fit the repository any more" in talk.said[-1]
    assert (await talk.last()).ending == "changed"


async def test_a_fetch_that_fails_for_another_reason_is_a_failure(talk: Stage) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    talk.sandbox.unfit = PrepareFailed(Reason.FETCH_FAILED, "The branch is gone.")
    await talk.say("/agent and the other one")
    await talk.settle()
    assert (await talk.last()).ending == "failed"


async def test_a_diff_on_a_pull_request_is_gone_on_from_while_its_head_stays(talk: Stage) -> None:
    issue = await talk.local.open_pull(talk.repository, {"f": b"new\n"}, user="alice")
    await talk.say("/agent fix it", issue=issue)
    await talk.settle()
    await talk.say("/agent and that", issue=issue)
    await talk.settle()
    await talk.local.push(talk.repository, issue, {"f": b"newer\n"})
    talk.later()  # a push in the second of the comment counts as a later one
    await talk.say("/agent and more", issue=issue)
    await talk.settle()
    assert [job.source and job.source.patch for job in talk.jobs] == [None, PATCH, None]


async def test_after_its_pull_request_s_end_a_result_that_came_later_still_counts(talk: Stage) -> None:
    issue, _ = await opened(talk)
    await talk.local.close(talk.repository, issue)
    await talk.say("/agent --diff something else")
    await talk.settle()
    await talk.say("/agent --diff and more")
    await talk.settle()
    assert [job.source and job.source.patch for job in talk.jobs] == [None, None, PATCH]


async def test_somebody_s_push_to_our_pull_request_is_what_a_follow_up_on_the_issue_starts_from(talk: Stage) -> None:
    issue, pull = await opened(talk)
    theirs = await talk.local.push(talk.repository, issue, {"f": b"theirs\n"})
    await talk.say("/agent and mention it")
    await talk.settle()
    source = talk.jobs[-1].source
    assert source is not None
    assert source.commit == theirs
    assert len(talk.pulls()) == 1
    assert talk.file(pull.head_ref, "f") == b"theirs\n"
    assert talk.file(pull.head_ref) == b"# Hello!\n"
