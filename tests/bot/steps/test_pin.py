"""A task works on the head that its comment saw, whatever is pushed before the bot looks."""

from __future__ import annotations

import pytest

from bot.conversation_words import worked_on
from bot.demo.github import Failure, Issue
from bot.github_activity import MOST
from bot.steps.pin import TRIES
from tests.bot.stage import Stage
from tests.bot.steps.test_publish import opened
from tests.github_world import sent


async def theirs(talk: Stage) -> tuple[Issue, str]:
    """A pull request of alice's, and its head."""
    issue = await talk.local.open_pull(talk.repository, {"f": b"new\n"}, user="alice")
    talk.later()
    assert issue.pull is not None
    return issue, issue.pull.sha


def commits(talk: Stage) -> list[str | None]:
    return [job.source.commit if job.source else None for job in talk.jobs]


async def test_a10_what_is_pushed_between_the_comment_and_our_look_is_not_worked_on(talk: Stage) -> None:
    issue, seen = await theirs(talk)
    await talk.say("/agent look at it", issue=issue)
    talk.later()
    await talk.local.push(talk.repository, issue, {"f": b"evil\n"})
    await talk.local.push(talk.repository, issue, {"f": b"more evil\n"})
    await talk.settle()
    assert commits(talk) == [seen]
    assert worked_on("earlier", seen) in talk.said_on(issue)[0]


async def test_a10_nor_what_is_forced_or_made_anew(talk: Stage) -> None:
    issue, seen = await theirs(talk)
    await talk.say("/agent look at it", issue=issue)
    talk.later()
    talk.local.delete_branch(talk.repository, "topic")
    talk.local.commit(talk.repository, {"f": b"evil\n"}, branch="topic")
    await talk.local.moved(talk.repository, issue, issue.user)
    await talk.settle()
    assert issue.pull is not None
    assert issue.pull.sha != seen
    assert commits(talk) == [seen]


async def test_a10_the_work_on_it_is_put_beside_the_branch_that_has_moved(talk: Stage) -> None:
    issue, seen = await theirs(talk)
    await talk.say("/agent --pr mend it", issue=issue)
    talk.later()
    pushed = await talk.local.push(talk.repository, issue, {"f": b"theirs\n"})
    await talk.settle()
    assert (commits(talk), talk.head("topic")) == ([seen], pushed)
    (stacked,) = talk.pulls()
    assert stacked.pull is not None
    assert stacked.pull.base_ref == "topic"
    assert talk.file(stacked.pull.head_ref) == b"# Hello!\n"
    said = talk.said_on(issue)[0]
    assert "pushed to the branch meanwhile" in said
    assert worked_on("earlier", seen) in said
    assert any(check.head_sha == seen for check in talk.repository.checks)


async def test_a10_so_it_is_on_a_pull_request_of_ours(talk: Stage) -> None:
    issue, pull = await opened(talk)
    talk.later()
    seen = pull.sha
    await talk.say("/agent more", issue=issue)
    talk.later()
    pushed = await talk.local.push(talk.repository, issue, {"f": b"theirs\n"})
    await talk.settle()
    assert commits(talk)[-1] == seen
    assert talk.head(pull.head_ref) == pushed
    assert "pushed to the branch meanwhile" in talk.said_on(issue)[-1]


async def test_a10_a_fork_is_asked_about_its_own_branch(talk: Stage) -> None:
    fork = talk.local.add_repository("mallory", "repo", {"f": b"old\n"}, installed=False)
    issue = await talk.local.open_pull(talk.repository, {"f": b"fork\n"}, user="mallory", fork=fork)
    assert issue.pull is not None
    seen = issue.pull.sha
    talk.later()
    await talk.say("/agent look at it", issue=issue)
    talk.later()
    await talk.local.push(talk.repository, issue, {"f": b"evil\n"}, user="mallory")
    await talk.settle()
    assert commits(talk) == [seen]
    (asked,) = [one for one in talk.local.log if one.operation == "repos/list-activities"]
    assert asked.path == "/repos/mallory/repo/activity"


async def test_what_was_pushed_before_the_comment_is_the_head_and_nothing_is_said_of_it(talk: Stage) -> None:
    issue, _ = await theirs(talk)
    pushed = await talk.local.push(talk.repository, issue, {"f": b"newer\n"})
    talk.later()
    await talk.say("/agent look at it", issue=issue)
    await talk.settle()
    assert commits(talk) == [pushed]
    assert pushed[:12] not in talk.said_on(issue)[0]
    assert sent(talk.local, "repos/list-activities") == 1


async def test_a_retry_is_a_comment_of_its_own(talk: Stage) -> None:
    issue, _ = await theirs(talk)
    await talk.say("/agent look at it", issue=issue)
    await talk.settle()
    talk.later()
    second = await talk.local.push(talk.repository, issue, {"f": b"newer\n"})
    talk.later()
    await talk.say("/agent retry", issue=issue)
    talk.later()
    await talk.local.push(talk.repository, issue, {"f": b"evil\n"})
    await talk.settle()
    assert commits(talk)[-1] == second


async def test_an_event_that_says_what_the_head_was_needs_no_asking(talk: Stage) -> None:
    issue, seen = await theirs(talk)
    await talk.local.review_comment(talk.repository, issue, "alice", "/agent fix this", path="f")
    await talk.local.push(talk.repository, issue, {"f": b"evil\n"})
    await talk.settle()
    assert commits(talk) == [seen]
    assert sent(talk.local, "repos/list-activities") == 0


# Where GitHub does not say.


@pytest.mark.parametrize("status", [404, 403, 422])
async def test_where_it_cannot_be_asked_the_head_of_now_is_taken_and_that_is_said(talk: Stage, status: int) -> None:
    talk.local.fail(Failure("repos/list-activities", status, times=None))
    issue, seen = await theirs(talk)
    await talk.say("/agent look at it", issue=issue)
    await talk.settle()
    assert commits(talk) == [seen]
    assert worked_on("undated", seen) in talk.said_on(issue)[0]


async def test_a_private_fork_and_one_that_is_gone_too(stage: Stage) -> None:
    """Not held against GitHub's description, which does not know that a head's repository may be null."""
    talk = stage
    await talk.hear()
    talk.agent()
    fork = talk.local.add_repository("mallory", "repo", {"f": b"old\n"}, installed=False)
    issue = await talk.local.open_pull(talk.repository, {"f": b"fork\n"}, user="mallory", fork=fork)
    assert issue.pull is not None
    fork.private = True
    await talk.say("/agent look at it", issue=issue)
    await talk.settle()
    issue.pull.head_repository = None
    await talk.say("/agent look at that", issue=issue)
    await talk.settle()
    assert commits(talk) == [issue.pull.sha] * 2
    assert all(worked_on("undated", issue.pull.sha) in said for said in talk.said_on(issue))
    assert [one.path for one in talk.local.log if one.path.endswith("/activity")] == ["/repos/mallory/repo/activity"]


async def test_an_outage_is_waited_for_and_not_for_ever(talk: Stage) -> None:
    down = talk.local.fail(Failure("repos/list-activities", 503, times=None))
    issue, seen = await theirs(talk)
    await talk.say("/agent look at it", issue=issue)
    for tried in range(1, TRIES + 2):
        assert (down.hits, talk.jobs) == (tried - 1, [])
        await talk.settle()
        talk.clock.time += 61
    assert commits(talk) == [seen]
    assert worked_on("undated", seen) in talk.said_on(issue)[0]


async def test_a_head_that_is_pushed_to_without_end_is_not_worked_on(talk: Stage) -> None:
    issue, _ = await theirs(talk)
    comment = await talk.say("/agent look at it", issue=issue)
    talk.later()
    await talk.local.push(talk.repository, issue, {"f": b"evil\n"})
    talk.repository.activities += [talk.repository.activities[-1]] * MOST
    await talk.settle()
    assert talk.jobs == []
    assert "Look at it as it is now" in talk.said_on(issue)[0]
    assert talk.reactions(comment) == ["confused"]
