"""What is as the rows say counts as read; a word that is not is left over, whatever it stands in."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.demo.github import Failure
from bot.publishing.words import refusal_note
from tests.bot.stage import Stage, a_stage

REVIEW = [("README.md", 1, "Louder, please.")]


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Stage]:
    """What is left over is for the tests to see."""
    async with a_stage(tmp_path, reads=False) as stage:
        await stage.hear()
        stage.agent(reply="[1] It shouts now.")
        yield stage


async def test_a_word_that_is_wrong_is_left_over_in_whatever_the_bot_writes(talk: Stage) -> None:
    await talk.say("/agent --pr fix it")
    await talk.settle()
    (issue,) = talk.pulls()
    await talk.local.review(talk.repository, issue, "alice", comments=REVIEW)
    await talk.settle()
    await talk.all_is_read()
    assert issue.pull is not None
    (comment,) = talk.local.bot_comments(talk.issue)
    (answer,) = [one for one in issue.pull.comments if one.by_app]
    output = talk.repository.checks[0].fields["output"]
    comment.body, answer.body, issue.body = f"{comment.body}.", f"{answer.body}.", f"{issue.body}."
    output["summary"] += "."
    with pytest.raises(AssertionError) as left:
        await talk.all_is_read()
    kinds = re.findall(r"^(check|comment|description|reply) \d+ ", str(left.value), re.MULTILINE)
    assert sorted(kinds) == ["check", "comment", "description", "reply"]


async def test_the_same_mark_twice_on_a_thread_is_a_mistake(talk: Stage) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    (comment,) = talk.local.bot_comments(talk.issue)
    talk.issue.comments.append(comment)
    with pytest.raises(AssertionError, match="said twice"):
        await talk.read()


async def test_what_waits_and_works_is_right_as_it_is_then(talk: Stage) -> None:
    talk.sandbox.automatic = None
    await talk.say("/agent one")
    await talk.until(lambda: talk.sandbox.counts()["wait"] == 1)
    await talk.say("/agent two")
    await talk.until(lambda: any("Queued" in one.body for one in talk.local.bot_comments(talk.issue)))
    await talk.all_is_read()


async def test_help_is_right_and_an_answer_that_no_row_tells_is_left_to_the_test(talk: Stage) -> None:
    await talk.say("/agent help")
    await talk.settle()
    talk.reader.all_is_read()
    await talk.say("/agent status")
    await talk.settle()
    with pytest.raises(AssertionError, match="Nothing is under way"):
        await talk.all_is_read()


async def test_why_there_is_no_pull_request_is_for_the_test_to_know(talk: Stage) -> None:
    talk.local.fail(Failure("pulls/create", 403, times=None, body=b'{"message":"no"}'))
    await talk.say("/agent --pr fix it")
    await talk.settle()
    with pytest.raises(AssertionError, match="No pull request"):
        await talk.all_is_read()
    assert any(refusal_note(403, "no", "/agent") in body for body in talk.said)
    await talk.all_is_read()
