"""Labels that start a task, and of which no webhook was made."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.demo.github import Failure, Issue
from bot.demo.github_work_state import Labelling
from bot.steps import unanswered_labels as module
from bot.steps.unanswered import Unanswered
from bot.steps.unanswered_labels import NAMES_HOLD, last_put_on
from bot.store.labelled import ABOUT
from tests.bot.hooked import Door
from tests.bot.looking import LATER, as_if_told, heard, looked
from tests.bot.stage import Stage
from tests.github_world import sent

EVENTS = "issues/list-events"
EVENT: dict[str, Any] = {
    "id": 1,
    "event": "labeled",
    "created_at": "2026-01-02T03:00:00Z",
    "label": {"name": "Agent", "color": "ededed"},
    "actor": {"id": 5, "login": "alice", "type": "User"},
}


async def label(stage: Stage, name: str = "agent", user: str = "alice", issue: Issue | None = None) -> Labelling:
    issue = issue or stage.issue
    await stage.local.label(stage.repository, issue, name, user)
    return issue.labellings[-1]


async def asked(hooked: tuple[Stage, Door]) -> Stage:
    """A stage where somebody has asked, and whose webhook is switched off."""
    stage, _ = hooked
    await stage.say("/agent one")
    await stage.local.disconnect_webhook()
    return stage


@pytest.mark.parametrize("pull_request", [False, True])
async def test_a_label_is_found_as_its_webhook_would_have_brought_it(
    hooked: tuple[Stage, Door], pull_request: bool
) -> None:
    stage, door = hooked
    await stage.say("/agent one")
    issue = await stage.local.open_pull(stage.repository, {"f": b"new\n"}) if pull_request else stage.issue
    await door.close()
    put_on = await label(stage, "Agent", issue=issue)
    assert len(await looked(stage, 0)) == 1, "a webhook may be under way"
    _, found = await looked(stage)
    assert found.request.delivery_id == f"found-{stage.repository.id}-label-{put_on.id}"
    assert (found.request.is_pull_request, found.request.label) == (pull_request, "Agent")
    await heard(stage, door)
    assert len(await looked(stage)) == 2, "its webhook has the same content"
    stage.local.state.sent.clear()
    other = await stage.local.open_pull(stage.repository, {"f": b"new\n"}, branch="x") if pull_request else None
    other = other or stage.local.add_issue(stage.repository)
    await label(stage, "Agent", issue=other)
    told = (await stage.last()).request
    at = {"created_at": found.request.created_at, "content_key": found.request.content_key, "thread": issue.number}
    assert as_if_told(found.request, told) == told.model_copy(update=at | {"head_sha": found.request.head_sha})
    assert (found.request.head_sha is not None) == (told.head_sha is not None) == pull_request


async def test_the_found_label_is_carried_out_and_taken_off(hooked: tuple[Stage, Door]) -> None:
    stage = await asked(hooked)
    stage.agent()
    await label(stage)
    assert len(await looked(stage)) == 2
    await stage.settle()
    assert (stage.issue.labels, len(stage.jobs)) == ([], 2)
    assert len(await looked(stage)) == 2


async def test_a_label_is_asked_again_when_it_was_put_on_again(hooked: tuple[Stage, Door]) -> None:
    stage = await asked(hooked)
    await label(stage)
    await looked(stage)
    stage.issue.labels.clear()
    again = await label(stage)
    again.created_at += 2 * ABOUT
    assert len(await looked(stage)) == 3


async def test_a_late_webhook_of_another_second_makes_no_second_task(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await stage.say("/agent one")
    await door.close()
    put_on = await label(stage)
    put_on.created_at += timedelta(seconds=3)
    assert len(await looked(stage)) == 2
    await heard(stage, door)
    keys = {task.request.content_key for task in await stage.tasks()}
    assert (len(keys), len(await stage.tasks())) == (2, 2)


async def test_an_event_that_github_shows_late_is_looked_for_again(hooked: tuple[Stage, Door]) -> None:
    stage = await asked(hooked)
    put_on = await label(stage)
    await stage.say("well?")
    stage.issue.labellings.clear()
    looks = Unanswered(stage.runner.world)
    await looks.look()
    stage.issue.labellings.append(put_on)
    stage.clock.time += LATER
    await looks.look()
    assert len(await stage.tasks()) == 2


async def test_what_has_a_task_is_not_asked_again_whatever_happens_on_the_thread(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    await label(stage, user="bob")
    await stage.settle()
    assert (stage.issue.labels, [task.ending for task in await stage.tasks()]) == (["agent"], ["changed", "refused"])
    looks = Unanswered(stage.runner.world)
    stage.clock.time += LATER
    await looks.look()
    assert sent(stage.local, EVENTS) == 0, "nothing has happened since"
    comment = await stage.say("well?", user="bob")
    comment.created_at = comment.updated_at = comment.created_at + 2 * ABOUT
    for _ in range(3):
        stage.clock.time += LATER
        await looks.look()
    assert (len(await stage.tasks()), sent(stage.local, EVENTS)) == (2, 1)


async def test_only_labels_of_the_rules_on_open_threads_count_in_any_letters(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    rules = b"labels: {Docs: 'Write the docs'}\n"
    stage.local.commit(stage.repository, {"f": b"old\n", ".github/gofer.yml": rules})
    await asked(hooked)
    await label(stage, "bug")
    await label(stage, "agent")
    assert len(await looked(stage)) == 1
    assert sent(stage.local, EVENTS) == 0
    await label(stage, "dOCS")
    closed = stage.local.add_issue(stage.repository)
    await label(stage, "docs", issue=closed)
    closed.closed = True
    assert [task.request.label for task in await looked(stage)] == [None, "dOCS"]


async def test_rules_that_cannot_be_read_start_nothing(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    stage.local.commit(stage.repository, {"f": b"old\n", ".github/gofer.yml": b"nonsense: 1\n"})
    await asked(hooked)
    await label(stage)
    assert len(await looked(stage)) == 1
    stage.local.fail(Failure("repos/get-content", 503, times=None))
    assert len(await looked(stage)) == 1
    assert sent(stage.local, EVENTS) == 0


async def test_rules_are_asked_for_once_an_hour_and_only_where_there_are_labels(hooked: tuple[Stage, Door]) -> None:
    stage = await asked(hooked)
    looks = Unanswered(stage.runner.world)
    read = []
    for seconds in (LATER, 0, LATER, LATER, NAMES_HOLD):
        stage.clock.time += seconds
        await looks.look()
        read.append(sent(stage.local, "repos/get-content"))
        if not stage.issue.labels:
            await label(stage, "bug")
    assert read == [0, 1, 1, 1, 2]


async def test_a_label_of_an_earlier_bots_time_or_of_a_program_asks_for_nothing(hooked: tuple[Stage, Door]) -> None:
    stage = await asked(hooked)
    old = await label(stage)
    old.created_at -= timedelta(hours=1)
    other = stage.local.add_issue(stage.repository)
    stage.local.add_user("robot[bot]", "Bot")
    await label(stage, user="robot[bot]", issue=other)
    looks = Unanswered(stage.runner.world)
    for _ in range(2):
        stage.clock.time += LATER
        await looks.look()
    assert (len(await stage.tasks()), sent(stage.local, EVENTS)) == (1, 2)


async def test_a_label_on_a_fork_counts_only_where_nothing_has_happened_since(hooked: tuple[Stage, Door]) -> None:
    stage = await asked(hooked)
    fork = stage.local.add_repository("mallory", "repo", {"f": b"old\n"}, installed=False)
    moved, still = [
        await stage.local.open_pull(stage.repository, {"f": b"new\n"}, fork=fork, branch=name) for name in "ab"
    ]
    for pull in (moved, still):
        await label(stage, issue=pull)
    await stage.local.push(stage.repository, moved, {"f": b"evil\n"})
    moved.pushed_at = moved.labellings[0].created_at + timedelta(seconds=1)
    _, found = await looked(stage)
    assert found.request.thread == still.number
    own = await stage.local.open_pull(stage.repository, {"f": b"new\n"}, branch="own")
    await label(stage, issue=own)
    own.pushed_at = own.labellings[0].created_at + timedelta(seconds=1)
    assert len(await looked(stage)) == 3, "who pushes here may write"
    at = own.labellings[0].created_at.replace(microsecond=0)
    assert (await stage.last()).request.created_at == at, "of the label, whatever has happened since"


async def test_a_look_asks_for_a_bounded_number_and_the_next_one_for_the_rest(
    hooked: tuple[Stage, Door], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = await asked(hooked)
    monkeypatch.setattr(module, "AT_ONCE", 2)
    for _ in range(3):
        await label(stage, issue=stage.local.add_issue(stage.repository))
    stage.clock.time += LATER
    looks = Unanswered(stage.runner.world)
    found = []
    for _ in range(3):
        await looks.look()
        found.append((sent(stage.local, EVENTS), len(await stage.tasks())))
    assert found == [(2, 3), (3, 4), (3, 4)]


def test_the_last_event_of_the_label_tells() -> None:
    off, other = EVENT | {"id": 2, "event": "unlabeled"}, EVENT | {"id": 3, "label": {"name": "bug"}}
    renamed = {"id": 4, "event": "renamed", "created_at": "2026-01-02T03:00:00Z", "rename": {"from": "a", "to": "b"}}

    def last(*events: dict[str, Any]) -> int | None:
        found = last_put_on(events, "agent")
        return None if found is None else found.id

    assert last(EVENT, other, renamed) == 1
    assert last(EVENT, off) is None
    assert last(EVENT, off, EVENT | {"id": 5}) == 5
    assert last(EVENT | {"actor": None}) == 1
    assert last() is None
