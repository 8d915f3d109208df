"""Commands in comments of which no webhook was made, in conversations and on lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.steps.found import Place
from bot.steps.unanswered import Unanswered
from bot.steps.unanswered_comments import as_it_was, is_command, is_here, number_in
from tests.bot.hooked import Door
from tests.bot.looking import as_if_told, heard, looked
from tests.bot.stage import Stage
from tests.github_world import sent

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PLACE = Place(None, NOW - timedelta(days=3), NOW - timedelta(minutes=1))  # type: ignore[arg-type]
COMMENT: dict[str, Any] = {
    "id": 1,
    "body": "/agent fix it",
    "issue_url": "https://api.github.com/repos/o/r/issues/7",
    "created_at": "2026-01-02T03:00:00Z",
    "updated_at": "2026-01-02T03:00:00Z",
}
LINE = {name: value for name, value in COMMENT.items() if name != "issue_url"} | {
    "pull_request_url": "https://api.github.com/repos/o/r/pulls/7"
}
README = {"README.md": b"more\n"}
PULL = {"number": 7, "head": {"sha": "a" * 40, "repo": {"id": 1}}}


async def test_its_webhook_may_come_late_all_the_same(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await stage.say("/agent one")
    await door.close()
    await stage.say("/agent two")
    assert [task.request.command.prompt for task in await looked(stage)] == ["one", "two"]
    await heard(stage, door)
    assert len(await stage.tasks()) == 2


async def test_an_edited_command_is_left_alone(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    await stage.local.disconnect_webhook()
    comment = await stage.say("/agent two")
    await stage.local.edit(stage.repository, stage.issue, comment, "/agent three")
    assert len(await looked(stage)) == 1


async def test_a_command_on_a_line_is_found_as_its_webhook_would_have_brought_it(hooked: tuple[Stage, Door]) -> None:
    stage, door = hooked
    await stage.say("/agent one")
    pull = await stage.local.open_pull(stage.repository, README)
    await door.close()
    first = await stage.local.review_comment(stage.repository, pull, "alice", "well?")
    await stage.local.review_comment(stage.repository, pull, "alice", "/agent mend\nthis", reply_to=first)
    _, found = await looked(stage)
    assert found.request.anchor is not None
    assert found.request.anchor.root_id == first.id
    assert len(await looked(stage)) == 2
    await heard(stage, door)
    assert len(await stage.tasks()) == 2, "its webhook has the same content"
    again = await stage.local.review_comment(stage.repository, pull, "alice", "/agent mend\nthis", reply_to=first)
    told = (await stage.last()).request
    assert as_if_told(found.request, told).model_copy(
        update={"comment_id": again.id, "content_key": told.content_key, "created_at": told.created_at}
    ) == told.model_copy(update={"head_sha": found.request.head_sha})
    assert told.head_sha == found.request.head_sha


async def test_a_line_that_waited_for_its_review_is_no_edited_one(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    pull = await stage.local.open_pull(stage.repository, README)
    await stage.local.disconnect_webhook()
    drafted = await stage.local.review_comment(stage.repository, pull, "alice", "/agent drafted")
    edited = await stage.local.review_comment(stage.repository, pull, "alice", "/agent edited")
    for one in (drafted, edited):
        one.updated_at = one.created_at + timedelta(seconds=30)
    edited.edited_at = edited.updated_at
    assert [task.request.command.prompt for task in await looked(stage)] == ["one", "drafted"]


async def test_a_line_and_a_comment_of_one_number_are_two(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    pull = await stage.local.open_pull(stage.repository, README)
    await stage.local.disconnect_webhook()
    comment = await stage.say("/agent two")
    line = await stage.local.review_comment(stage.repository, pull, "alice", "/agent three")
    line.id = comment.id
    assert [task.request.command.prompt for task in await looked(stage)] == ["one", "two", "three"]


async def test_what_was_pushed_to_a_fork_since_is_not_worked_on(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    fork = stage.local.add_repository("mallory", "repo", {"f": b"old\n"}, installed=False)
    for where in (fork, None):
        pull = await stage.local.open_pull(stage.repository, README, fork=where, branch=f"topic-{where is None}")
        await stage.local.disconnect_webhook()
        await stage.local.review_comment(stage.repository, pull, "alice", "/agent run it")
        assert pull.pull is not None
        seen = pull.pull.sha
        pushed = await stage.local.push(stage.repository, pull, {"README.md": b"evil\n"})
        await looked(stage)
        expected = pushed if where is None else seen
        assert (await stage.last()).request.head_sha == expected


async def test_the_same_runner_asks_for_a_pull_request_once(hooked: tuple[Stage, Door]) -> None:
    stage, _ = hooked
    await stage.say("/agent one")
    pull = await stage.local.open_pull(stage.repository, README)
    await stage.local.review_comment(stage.repository, pull, "alice", "/agent two")
    stage.clock.time += 3600
    looks = Unanswered(stage.runner.world)
    for _ in range(3):
        await looks.look()
    assert (sent(stage.local, "pulls/get"), sent(stage.local, "graphql")) == (1, 2)
    assert len(await stage.tasks()) == 2


@pytest.mark.parametrize("comment", [COMMENT, LINE])
@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({}, True),
        ({"updated_at": "2026-01-02T03:00:01Z"}, True),
        ({"body": "well, fix it"}, False),
        ({"body": None}, False),
        ({"updated_at": None}, False),
        ({"updated_at": "2026-01-02T03:04:05Z"}, False),
        ({"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"}, False),
        ({"created_at": "2025-12-01T03:00:00Z"}, False),
        ({"created_at": "never", "updated_at": "never"}, False),
        ({"issue_url": "https://api.github.com/repos/o/r/issues/7/x"}, False),
        ({"id": "1"}, False),
    ],
)
def test_what_counts(comment: dict[str, Any], change: dict[str, Any], counts: bool) -> None:
    assert is_command(comment | change, "/agent", PLACE) is counts


def test_the_head_of_a_fork_is_the_one_that_was_written_on() -> None:
    assert as_it_was(PULL, 1, "b" * 40) == PULL
    for repository in ({"id": 2}, None):
        pull = {"number": 7, "head": {"sha": "a" * 40, "repo": repository}}
        assert as_it_was(pull, 1, "b" * 40) == {"number": 7, "head": {"sha": "b" * 40}}
    assert as_it_was("no pull request", 1, None) == "no pull request"
    assert not is_here({"head": None}, 1)


def test_the_number_is_the_last_thing_in_an_address() -> None:
    urls = ("https://x/repos/o/r/issues/7", "https://x/repos/o/r/pulls/8", "https://x/pulls/0", "/issues/7?x", None)
    assert [number_in(url) for url in urls] == [7, 8, 0, 0, 0]
