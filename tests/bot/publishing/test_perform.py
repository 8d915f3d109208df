from __future__ import annotations

from dataclasses import replace

import pytest

from bot.demo import github_git_objects as objects
from bot.demo.github import Failure, LocalGitHub
from bot.github import GitHub, GitHubUnavailable
from bot.publishing.perform import Published, Refused, Texts, entries_of, perform
from bot.publishing.plan import Push, Why
from bot.work import Work
from sandbox import ChangedFile
from tests.bot.conversing import Talk, talk
from tests.github_world import Place, sent

FILES = (
    ChangedFile(path="README.md", raw_path=b"README.md", status="modified", new_mode="100644", content=b"# New\n"),
    ChangedFile(path="run.sh", raw_path=b"run.sh", status="added", new_mode="100755", content=b"#!/bin/sh\n"),
    ChangedFile(path="bin", raw_path=b"bin", status="added", new_mode="100644", content=b"\xff"),
)
TEXTS = Texts("T", lambda push: f"For {push.base}, {push.aside or 'as meant'}.", "M", draft=True)


class Row:
    """A task's row, kept as the steps write it."""

    def __init__(self) -> None:
        self.work = Work()
        self.saved: list[Work] = []

    async def save(self, work: Work) -> None:
        self.work = work
        self.saved.append(work)


@pytest.fixture
async def ready(github_world: LocalGitHub, place: Place) -> Talk:
    return await talk(github_world, place)


def fresh(t: Talk) -> Push:
    return Push("agent/1-t", t.server.head(t.place.repository) or "", None, "main")


async def done(client: GitHub, t: Talk, push: Push, row: Row, fallback: Push | None = None) -> Published | Refused:
    return await perform(client, t.place.where, push, fallback or push, FILES, TEXTS, row.work, row.save)


def test_a_deleted_file_keeps_its_old_mode_and_has_no_content() -> None:
    (entry,) = entries_of([ChangedFile(path="x", raw_path=b"x", status="deleted", old_mode="120000")])
    assert (entry.mode, entry.removed) == ("120000", True)


async def test_a_new_pull_request(github_client: GitHub, ready: Talk) -> None:
    row = Row()
    found = await done(github_client, ready, fresh(ready), row)
    assert isinstance(found, Published)
    assert (found.pull.draft, found.pull.title, found.updated) == (True, "T", False)
    assert (row.work.commit, row.work.branch, row.work.pull) == (found.commit, "agent/1-t", found.pull.number)
    git_dir = ready.place.repository.git_dir
    assert objects.file_at(git_dir, found.commit, "bin") == b"\xff"
    assert objects.read_commit(git_dir, found.commit).message == "M"


@pytest.mark.parametrize(
    "operation",
    ["git/create-blob", "git/create-tree", "git/create-commit", "git/create-ref", "pulls/create", "pulls/list"],
)
@pytest.mark.parametrize("after", [True, False])
async def test_v05_o13_after_a_failure_anywhere_there_is_one_branch_and_one_pull_request(
    operation: str, after: bool, github_client: GitHub, ready: Talk
) -> None:
    row, push = Row(), fresh(ready)
    ready.server.fail(Failure(operation, 503, times=5, after_effect=after))
    try:
        found = await done(github_client, ready, push, row)
    except GitHubUnavailable:
        found = await done(github_client, ready, push, row)
    assert isinstance(found, Published)
    pulls = [issue for issue in ready.place.repository.issues.values() if issue.pull and issue.pull.by_app]
    assert len(pulls) == 1
    assert ready.server.head(ready.place.repository, "agent/1-t") == found.commit


async def test_again_after_all_was_done_changes_nothing(github_client: GitHub, ready: Talk) -> None:
    row, push = Row(), fresh(ready)
    first = await done(github_client, ready, push, row)
    again = await done(github_client, ready, push, row)
    assert first == again
    assert (sent(ready.server, "git/create-commit"), sent(ready.server, "pulls/create")) == (1, 1)


async def test_b70_a_head_that_moved_is_left_alone_and_the_work_goes_aside(github_client: GitHub, ready: Talk) -> None:
    push = Push("topic", ready.pull.sha, ready.pull.sha, "main", ready.issue.number)
    aside = Push("agent/1-t", ready.pull.sha, None, "topic")
    theirs = await ready.server.push(ready.place.repository, ready.issue, {"README.md": b"theirs\n"})
    found = await done(github_client, ready, push, Row(), aside)
    assert isinstance(found, Published)
    assert (found.branch, found.aside, found.updated) == ("agent/1-t", Why.MOVED, False)
    assert ready.place.repository.issues[found.pull.number].body == f"For topic, {Why.MOVED}."
    assert ready.server.head(ready.place.repository, "topic") == theirs


async def test_b113_a_rule_found_only_by_writing_sends_the_work_aside(github_client: GitHub, ready: Talk) -> None:
    push = Push("topic", ready.pull.sha, ready.pull.sha, "main", ready.issue.number)
    ready.place.repository.protected.add("topic")
    found = await done(github_client, ready, push, Row(), Push("agent/1-t", ready.pull.sha, None, "topic"))
    assert isinstance(found, Published)
    assert (found.branch, found.aside) == ("agent/1-t", Why.RULED)
    assert ready.place.repository.issues[found.pull.number].body == f"For topic, {Why.RULED}."


async def test_the_branch_of_a_pull_request_is_updated(github_client: GitHub, ready: Talk) -> None:
    push = Push("topic", ready.pull.sha, ready.pull.sha, "main", ready.issue.number)
    found = await done(github_client, ready, push, Row())
    assert isinstance(found, Published)
    assert (found.updated, found.pull.number) == (True, ready.issue.number)
    assert ready.server.head(ready.place.repository, "topic") == found.commit


async def test_b74_a_refusal_is_told_with_githubs_words(github_client: GitHub, ready: Talk) -> None:
    body = b'{"message": "refusing to allow a GitHub App to create or update workflow without `workflows` permission"}'
    ready.server.fail(Failure("git/create-ref", 422, body=body))
    found = await done(github_client, ready, fresh(ready), Row())
    assert isinstance(found, Refused)
    assert "refusing to allow" in found.words


async def test_a_branch_of_ours_that_somebody_took_is_not_taken_back(github_client: GitHub, ready: Talk) -> None:
    push = fresh(ready)
    ready.server.commit(ready.place.repository, {"x": b"x"}, branch="agent/1-t")
    found = await done(github_client, ready, push, Row(), replace(push))
    assert isinstance(found, Refused)
