"""Each row of the trigger table on real parts: what people do on GitHub goes in, comments and pull requests come out.

Our own words are held against the functions that make them. A comment on an issue is `test_issue_to_diff`.
"""

from __future__ import annotations

from pathlib import Path

import docker
import pytest

from bot.comments import queued
from bot.demo.github import Comment
from bot.demo.github_work_state import ReviewComment
from bot.publishing import message
from bot.result_comment import marked
from bot.triggers.check_run import CANCEL
from tests.bot.expected import expected
from tests.engine import Images
from tests.journeys.talking import Begin, Talk, beginning

pytestmark = pytest.mark.engine

THEIRS = {"README.md": b"# Hello\nMore\n", "work.txt": b"as it was asked about\n"}
# A question to the model comes within seconds of its webhook; on a busy machine a minute was seen.
ASKED_SECONDS = 120.0


@pytest.fixture
def begin(docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path) -> Begin:
    return beginning(docker_client, images, nothing_left_behind, tmp_path)


async def hangs(talk: Talk) -> None:
    """From now on agents wait for their model for ever, and one does already."""
    talk.world.model.scenario = "hang"
    asked = len(talk.world.model.questions)
    await talk.github.comment(talk.repository, talk.issue, "mona", "/agent wait")
    await talk.world.model.wait_for_questions(asked + 1, ASKED_SECONDS)


def eyes_on(comment: Comment | ReviewComment) -> list[str]:
    return [one.content for one in comment.reactions]


async def test_a_comment_on_a_pull_request_is_about_the_head_that_it_had(begin: Begin) -> None:
    """Asked for while another task has the only place; before that one ends, somebody pushes."""
    async with begin(max_running="1") as talk:
        pull = await talk.github.open_pull(talk.repository, THEIRS, user="mona")
        assert pull.pull is not None
        head = pull.pull.sha
        await hangs(talk)
        talk.agent("I looked.", "cp work.txt seen.txt")
        asked = await talk.github.comment(talk.repository, pull, "mona", "/agent look at it")
        await talk.github.await_comment(lambda one: one.by_app and queued(1, 1) in one.body, ASKED_SECONDS)
        await talk.github.push(talk.repository, pull, THEIRS | {"work.txt": b"evil\n"}, user="mona")
        cancel = await talk.github.comment(talk.repository, talk.issue, "mona", "/agent cancel")
        await talk.done(3)
        first, second, _ = await talk.server.store.tasks()
        stopped, found = await expected(talk.server, first), await expected(talk.server, second)
        assert (first.ending, second.ending) == ("cancelled", "changed")
        assert talk.reader.comment(talk.issue) == stopped.result
        said = talk.reader.comment(pull)
        assert said == found.result
        assert "+as it was asked about" in said
        assert "evil" not in said
        assert (eyes_on(asked), eyes_on(cancel)) == (["eyes"], ["+1"])
        (check,) = talk.reader.checks(talk.repository)
        assert (check.sha, check.words) == (head, found.check)


async def test_a_review_comment_takes_its_place_to_the_agent(begin: Begin) -> None:
    async with begin() as talk:
        pull = await talk.github.open_pull(talk.repository, THEIRS, user="mona")
        talk.agent("It shouts.", "printf '# HELLO\\nMore\\n' >README.md")
        asked = await talk.github.review_comment(talk.repository, pull, "mona", "/agent louder, please", line=1)
        task = await talk.done(1)
        told = talk.told()
        assert "The request was written on README.md, line 1, here in the diff:" in told
        assert "@@ -1 +1,2 @@" in told
        found = await expected(talk.server, task)
        assert talk.reader.comment(pull) == found.result
        assert "+# HELLO" in found.result
        assert talk.reader.replies(pull) == {}
        assert eyes_on(asked) == ["eyes"]
        assert [one.words for one in talk.reader.checks(talk.repository)] == [found.check]


async def test_a_review_that_asks_for_changes_is_answered_on_each_of_its_threads(begin: Begin) -> None:
    async with begin() as talk:
        talk.agent("I made a start.", "echo one >NOTES.md")
        await talk.github.comment(talk.repository, talk.issue, "mona", "/agent --pr write notes")
        opened = await talk.done(1)
        (pull,) = talk.pulls()
        assert pull.pull is not None
        first = pull.pull.sha
        made = await expected(talk.server, opened, pull)
        assert talk.reader.comment(talk.issue) == made.result
        assert talk.reader.description(pull) == made.description()
        settled = await talk.github.review_comment(talk.repository, pull, "mona", "Fine.", path="NOTES.md")
        talk.github.resolve(pull, settled)
        lines = ["It says two now.", "I left this: it is right as it is.", "There is a LICENSE now."]
        answers = "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, 1))
        talk.agent(f"Done.\n{answers}", "echo two >NOTES.md; echo free >LICENSE")
        texts = [("NOTES.md", 1, "Two, not one."), ("NOTES.md", 1, "Why notes?"), ("README.md", 1, "A license?")]
        await talk.github.review(talk.repository, pull, "mona", comments=texts)
        task = await talk.done(2)
        assert pull.pull.sha != first
        found = await expected(talk.server, task, pull, updated=True)
        roots = [one.id for one in pull.pull.comments if one.review_id == pull.pull.reviews[-1].id and not one.by_app]
        assert talk.reader.replies(pull) == {
            root: found.reply(root, line) for root, line in zip(roots, lines, strict=True)
        }
        assert talk.reader.comment(pull) == found.result
        assert found.result.startswith(f"✅ **Pushed to the draft pull request #{pull.number}** with 2 files changed")
        shas = {one.sha: one.words for one in talk.reader.checks(talk.repository)}
        assert shas == {first: found.check, pull.pull.sha: found.check}
        assert "Fine." not in talk.told()


async def test_a_label_on_an_issue_becomes_a_draft_pull_request(begin: Begin) -> None:
    async with begin() as talk:
        talk.agent("I wrote notes.", "echo notes >NOTES.md")
        await talk.github.label(talk.repository, talk.issue, "agent", "mona")
        task = await talk.done(1)
        (pull,) = talk.pulls()
        assert pull.pull is not None
        assert talk.issue.labels == []
        assert (pull.pull.draft, pull.pull.base_ref) == (True, "main")
        assert pull.pull.head_ref == f"agent/{talk.issue.number}-{task.task_id}"
        assert pull.pull.sha in talk.github.state.verified
        found = await expected(talk.server, task, pull)
        assert pull.title == message.title(task.request, talk.issue.title)
        assert talk.reader.description(pull) == found.description()
        assert pull.body.startswith(f"Closes #{talk.issue.number}\n")
        assert talk.reader.comment(talk.issue) == found.result
        assert [one.sha for one in talk.reader.checks(talk.repository)] == [pull.pull.sha]


@pytest.mark.slow
async def test_a_label_on_a_pull_request_becomes_a_commit_on_its_author_s_branch(begin: Begin) -> None:
    async with begin() as talk:
        pull = await talk.github.open_pull(talk.repository, THEIRS, user="mona", body="It needs a license.")
        assert pull.pull is not None
        first = pull.pull.sha
        talk.agent("I added one.", "echo free >LICENSE")
        await talk.github.label(talk.repository, pull, "agent", "mona")
        task = await talk.done(1)
        assert pull.labels == []
        assert "It needs a license." in talk.told()
        assert talk.github.head(talk.repository, "topic") == task.work.commit == pull.pull.sha
        assert pull.pull.sha in talk.github.state.verified
        found = await expected(talk.server, task, pull, updated=True)
        assert talk.reader.comment(pull) == found.result
        assert talk.pulls() == []
        assert [one.sha for one in talk.reader.checks(talk.repository)] == [first, pull.pull.sha]


async def test_a_check_is_cancelled_by_its_button_and_run_again(begin: Begin) -> None:
    async with begin() as talk:
        pull = await talk.github.open_pull(talk.repository, THEIRS, user="mona")
        talk.world.model.scenario = "hang"
        await talk.github.comment(talk.repository, pull, "mona", "/agent shout")
        await talk.world.model.wait_for_questions(1, ASKED_SECONDS)
        (check,) = talk.repository.checks
        assert [action["identifier"] for action in check.fields["actions"]] == [CANCEL]
        await talk.github.press(talk.repository, check, CANCEL, "mona")
        await talk.done(2)
        stopped = await expected(talk.server, (await talk.server.store.tasks())[0])
        assert stopped.task.ending == "cancelled"
        assert talk.reader.comment(pull) == stopped.result
        assert [one.words for one in talk.reader.checks(talk.repository)] == [stopped.check]
        talk.agent("It shouts.", "printf '# HELLO\\nMore\\n' >README.md")
        await talk.github.rerequest(talk.repository, check, "mona")
        again = await expected(talk.server, await talk.done(3))
        assert again.task.ending == "changed"
        assert talk.reader.comment(pull) == again.result
        assert [one.words for one in talk.reader.checks(talk.repository)] == [again.check]


@pytest.mark.slow
async def test_a_comment_that_is_mended_asks_and_one_that_is_deleted_does_not_any_more(begin: Begin) -> None:
    """Both wait for the only place, so that both are changed before anything is done about them."""
    async with begin(max_running="1") as talk:
        await hangs(talk)
        talk.agent("I wrote notes.", "echo notes >NOTES.md")
        other = talk.github.add_issue(talk.repository, "Another", "Please.", "mona")
        mended = await talk.github.comment(talk.repository, other, "mona", "agent write notes")
        await talk.github.edit(talk.repository, other, mended, "/agent write notes")
        await talk.github.await_comment(lambda one: one in other.comments and one.by_app, ASKED_SECONDS)
        third = talk.github.add_issue(talk.repository, "A third", "Please.", "mona")
        gone = await talk.github.comment(talk.repository, third, "mona", "/agent write more")
        await talk.github.await_comment(lambda one: one in third.comments and one.by_app, ASKED_SECONDS)
        await talk.github.delete(talk.repository, third, gone)
        await talk.github.comment(talk.repository, talk.issue, "mona", "/agent cancel")
        await talk.done(4)
        first, second, dropped, _ = await talk.server.store.tasks()
        assert [one.ending for one in (first, second, dropped)] == ["cancelled", "changed", "cancelled"]
        for task, thread in ((first, talk.issue), (second, other), (dropped, third)):
            assert talk.reader.comment(thread) == (await expected(talk.server, task)).result
        assert len(talk.world.model.questions) == 1 + 2  # the one that hangs; a command and the end


@pytest.mark.slow
async def test_an_edit_of_what_was_a_command_and_a_program_s_words_ask_for_nothing(begin: Begin) -> None:
    async with begin() as talk:
        talk.agent("I wrote notes.", "echo notes >NOTES.md")
        asked = await talk.github.comment(talk.repository, talk.issue, "mona", "/agent write notes")
        task = await talk.done(1)
        await talk.github.edit(talk.repository, talk.issue, asked, "/agent write other notes")
        await talk.github.comment(talk.repository, talk.issue, "stranger", "/agent write mine")
        await talk.done(2)  # the stranger's: refused without a word
        said = talk.reader.comment(talk.issue)
        assert said == (await expected(talk.server, task)).result
        assert said.endswith(marked("", task.task_id, "result").strip())
