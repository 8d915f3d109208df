"""The tasks of one thread, and those that work towards the same branch."""

from __future__ import annotations

from bot.steps.thread_tasks import url_of
from bot.store import Caps
from tests.bot.a_task import a_task
from tests.bot.requests import a_request
from tests.bot.stage import Stage
from tests.bot.steps.test_publish import opened


async def test_b73_an_issue_and_its_pull_request_are_never_worked_on_at_once(talk: Stage) -> None:
    issue, pull = await opened(talk)
    before = pull.sha
    does = talk.sandbox.does
    assert does is not None
    talk.sandbox.automatic = None
    await talk.say("/agent on the pull request", issue=issue)
    await talk.until(lambda: talk.sandbox.counts()["start"] == 2)
    await talk.say("/agent on the issue")
    await talk.until(lambda: len(talk.said) == 2)
    for _ in range(5):
        await talk.runner.step()
        talk.clock.time += 3
    assert len(talk.jobs) == 2
    talk.sandbox.automatic = does(talk.jobs[-1])
    talk.sandbox.end(next(iter(talk.sandbox.boxes)), does(talk.jobs[-1]))
    await talk.settle()
    talk.clock.time += 4
    await talk.settle()
    source = talk.jobs[-1].source
    assert source is not None
    first = next(e.json()["sha"] for e in talk.local.log if e.operation == "git/update-ref")
    assert first != before
    assert source.commit == first
    assert len(talk.pulls()) == 1


async def test_other_threads_are_worked_on_at_once(talk: Stage) -> None:
    talk.sandbox.automatic = None
    other = talk.local.add_issue(talk.repository)
    await talk.say("/agent a")
    await talk.say("/agent b", issue=other)
    await talk.until(lambda: talk.sandbox.counts()["start"] == 2)
    assert talk.caps == Caps(running=2, per_repository=2)


def test_the_page_of_a_status_comment(stage: Stage) -> None:
    world = stage.runner.world
    request = a_request(thread=7)
    assert url_of(world, a_task(request=request)) == ""
    base = f"{stage.local.git_url}/octo/repo1"
    assert url_of(world, a_task(request=request, status_comment_id=5)) == f"{base}/issues/7#issuecomment-5"
    on_pull = request.model_copy(update={"is_pull_request": True})
    assert url_of(world, a_task(request=on_pull, status_comment_id=5)) == f"{base}/pull/7#issuecomment-5"
