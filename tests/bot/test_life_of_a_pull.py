"""The life of a pull request of ours: asked for on an issue, reviewed, mended, answered, approved, merged; and what may
come between the review and the end of the work on it. The engine adds nothing here: the agents are the stage's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.conversation_words import permission_lost
from bot.demo.github import Issue
from bot.demo.github_work_state import Pull, ReviewComment
from bot.publishing.plan import Why
from bot.tasks import TaskState
from bot.work import Pull as Row
from tests.bot.expected import Expected, expected, just_begun
from tests.bot.stage import Stage, a_stage
from tests.openapi.conform import assert_conforms
from tests.reader import Reader

LINES = ("It shouts now.", "I left this: it is right as it is.", "There is a license.")
REPLY = "Done.\n" + "\n".join(f"[{number}] {line}" for number, line in enumerate(LINES, 1))
REVIEW = tuple(("README.md", 1, text) for text in ("Louder, please.", "Why a file?", "A license?"))
# Rounds of a minute until everything must be done.
ROUNDS = 40


@dataclass
class Life:
    """``issue`` is the pull request, opened; ``reader`` has read what was said until then."""

    stage: Stage
    issue: Issue
    reader: Reader
    roots: list[ReviewComment] = field(default_factory=list)

    @property
    def pull(self) -> Pull:
        assert self.issue.pull is not None
        return self.issue.pull

    async def review(self) -> None:
        """Three threads, and one that is resolved; until an agent works on them."""
        stage = self.stage
        stage.agent(reply=REPLY)
        stage.sandbox.automatic = None
        settled = await stage.local.review_comment(stage.repository, self.issue, "alice", "Fine.")
        stage.local.resolve(self.issue, settled)
        looks = stage.sandbox.counts()["wait"]
        await stage.local.review(stage.repository, self.issue, "alice", comments=REVIEW)
        self.roots = [one for one in self.pull.comments if one.body in {text for _, _, text in REVIEW}]
        await stage.until(lambda: stage.sandbox.counts()["wait"] > looks)

    async def end(self) -> None:
        """The agent ends; until everything is done."""
        sandbox = self.stage.sandbox
        assert sandbox.does is not None
        for name, box in sandbox.boxes.items():
            sandbox.end(name, sandbox.does(box.job))
        await self.done()

    async def done(self) -> None:
        for _ in range(ROUNDS):
            await self.stage.settle()
            if all(task.state is TaskState.DONE for task in await self.stage.tasks()):
                return
            self.stage.clock.time += 61
        raise AssertionError(self.stage.local.history())

    async def expected(
        self, pull: Issue | None, *, updated: bool = False, aside: Why = Why.NONE, note: str = ""
    ) -> Expected:
        return await expected(self.stage, await self.stage.last(), pull, updated=updated, aside=aside, note=note)

    def answers(self, found: Expected) -> dict[int, str]:
        """What must stand on the threads."""
        return {root.id: found.reply(root.id, line) for root, line in zip(self.roots, LINES, strict=True)}

    def second(self) -> tuple[Issue, Pull]:
        """The pull request that was opened beside the first one."""
        _, issue = self.stage.pulls()
        assert issue.pull is not None
        return issue, issue.pull

    async def row(self, number: int) -> Row:
        row = await self.stage.store.pull(self.stage.repository.id, number)
        assert row is not None
        return row

    def read_checks(self) -> list[str]:
        return [f"{one.words.conclusion}: {one.sha}" for one in self.reader.checks(self.stage.repository)]


@pytest.fixture
async def life(tmp_path: Path) -> AsyncIterator[Life]:
    """At the end nothing that the bot has said is left unread."""
    async with a_stage(tmp_path, reads=False) as stage:
        await stage.hear()
        stage.agent()
        reader = Reader(stage.local)
        await stage.say("/agent --pr fix it")
        await stage.settle()
        (issue,) = stage.pulls()
        made = await expected(stage, await stage.last(), issue)
        assert reader.comment(stage.issue) == made.result
        assert reader.description(issue) == made.description()
        assert [one.words for one in reader.checks(stage.repository)] == [made.check]
        life = Life(stage, issue, reader)
        yield life
        reader.all_is_read()
        assert_conforms(stage.local.log)


async def test_from_the_issue_to_the_merge(life: Life) -> None:
    stage, first = life.stage, life.pull.sha
    await life.review()
    await life.end()
    assert life.pull.sha != first
    found = await life.expected(life.issue, updated=True)
    assert life.reader.replies(life.issue) == life.answers(found)
    assert life.reader.comment(life.issue) == found.result
    assert life.read_checks() == [f"success: {first}", f"success: {life.pull.sha}"]
    assert (await life.row(life.issue.number)).rounds == 1
    tasks = len(await stage.tasks())
    await stage.local.review(stage.repository, life.issue, "alice", state="APPROVED", body="Good.")
    await stage.local.close(stage.repository, life.issue, merge=True)
    await life.done()
    assert len(await stage.tasks()) == tasks
    assert stage.file("main") == b"# Hello!\n"


async def test_a_base_that_moves_meanwhile_keeps_nothing_from_the_branch(life: Life) -> None:
    await life.review()
    base = life.stage.local.commit(life.stage.repository, {"f": b"old\n", "other": b"theirs\n"})
    await life.end()
    found = await life.expected(life.issue, updated=True)
    assert life.reader.replies(life.issue) == life.answers(found)
    assert life.reader.comment(life.issue) == found.result
    assert len(life.read_checks()) == 2
    assert life.stage.head() == base


async def test_b70_a_head_that_moves_meanwhile_is_left_as_it_is(life: Life) -> None:
    await life.review()
    theirs = await life.stage.local.push(life.stage.repository, life.issue, {"f": b"theirs\n"}, user="alice")
    await life.end()
    assert life.stage.head(life.pull.head_ref) == theirs
    await beside(life, Why.MOVED, life.pull.head_ref)


async def test_b71_a_pull_request_that_is_closed_meanwhile_is_not_opened_again(life: Life) -> None:
    await life.review()
    await life.stage.local.close(life.stage.repository, life.issue)
    await life.end()
    assert life.issue.closed
    await beside(life, Why.CLOSED, "main")


async def test_b71_a_branch_that_is_deleted_meanwhile_is_not_made_again(life: Life) -> None:
    await life.review()
    life.stage.local.delete_branch(life.stage.repository, life.pull.head_ref)
    await life.end()
    assert life.stage.head(life.pull.head_ref) == ""
    await beside(life, Why.DELETED, "main")


async def beside(life: Life, why: Why, base: str) -> None:
    """The work is in a pull request of its own, for ``base``, and that is said everywhere."""
    issue, pull = life.second()
    assert pull.base_ref == base
    found = await life.expected(issue, aside=why)
    assert life.reader.replies(life.issue) == life.answers(found)
    assert life.reader.comment(life.issue) == found.result
    assert life.reader.description(issue) == found.description(base)
    assert f"success: {pull.sha}" in life.read_checks()
    assert (await life.row(issue.number)).thread == life.issue.number


async def test_b75_a_conversation_that_is_locked_meanwhile_has_its_result_in_the_check(life: Life) -> None:
    first = life.pull.sha
    await life.review()
    await life.stage.local.lock(life.stage.repository, life.issue)
    await life.end()
    assert life.pull.sha != first
    found = await life.expected(life.issue, updated=True)
    assert life.reader.comment(life.issue) == found.result
    assert life.reader.replies(life.issue) == {}
    assert life.read_checks() == [f"success: {first}", f"success: {life.pull.sha}"]


async def test_permission_that_is_lost_meanwhile_pushes_nothing_and_says_so_on_each_thread(life: Life) -> None:
    first = life.pull.sha
    await life.review()
    life.stage.local.set_role(life.stage.repository, "alice", "read")
    await life.end()
    assert life.stage.head(life.pull.head_ref) == first
    found = await life.expected(None, note=permission_lost("alice", "/agent"))
    assert life.reader.replies(life.issue) == life.answers(found)
    assert life.reader.comment(life.issue) == found.result
    assert life.read_checks() == [f"success: {first}"]


async def test_an_installation_that_is_suspended_meanwhile_is_written_to_no_more(life: Life) -> None:
    first, stage = life.pull.sha, life.stage
    await life.review()
    installation = stage.local.state.installation_of(stage.repository)
    assert installation is not None
    await stage.local.change_installation(installation, "suspend")
    asked = len(stage.local.log)
    await life.end()
    assert stage.head(life.pull.head_ref) == first
    assert [one for one in stage.local.log[asked:] if one.status and one.status < 300] == []
    task = await stage.last()
    assert task.ending == "undeliverable"
    assert await stage.store.patch(task.task_id)
    assert life.reader.comment(life.issue) in just_begun(task)
    assert life.read_checks() == [f"None: {first}"]
