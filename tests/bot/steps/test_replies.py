"""Answers on the conversations of a review."""

from __future__ import annotations

import pytest

from bot.demo.github import Failure
from bot.publishing.words import refusal_note
from bot.result_comment import marker
from bot.steps.publish import Brought
from bot.steps.replies import letters, words
from tests.bot.a_task import a_task
from tests.bot.expected import expected
from tests.bot.stage import Stage
from tests.bot.steps.test_publish import opened
from tests.bot.test_pull_comment import PUBLISHED


@pytest.mark.parametrize("number", [1, 3_000_000_021, 2**63 - 1])
def test_a_number_in_letters_fits_a_marker_and_stays_itself(number: int) -> None:
    made = letters(number)
    assert marker("0123456789", f"reply-{made}")
    assert "".join(str(ord(char) - ord("a")) for char in made) == str(number)


def test_what_became_of_it_is_ours_to_say_and_the_agent_s_words_are_inert() -> None:
    nowhere = Brought(a_task(), None)
    assert "Nothing was pushed" in words("", nowhere)
    said = words("/agent x\n@octocat", Brought(a_task(), PUBLISHED))
    assert said.endswith("The work is on `agent/1-abc`, in #9.")
    assert not [line for line in said.splitlines() if line.startswith(("/agent", "@"))]


async def test_b82_an_answer_made_by_a_call_that_failed_is_not_made_again(talk: Stage) -> None:
    issue, pull = await opened(talk)
    talk.local.fail(Failure("pulls/create-reply-for-review-comment", 502, times=1, after_effect=True))
    await talk.local.review(talk.repository, issue, "alice", comments=[("README.md", 1, "a"), ("README.md", 1, "b")])
    await talk.settle()
    talk.clock.time += 61
    await talk.settle()
    assert len([one for one in pull.comments if one.by_app]) == 2


async def test_b89_answers_come_after_the_push_and_say_when_there_was_none(talk: Stage) -> None:
    issue, pull = await opened(talk)
    talk.agent(reply="[1] I pushed the fix")
    talk.local.fail(Failure("git/update-ref", 403, times=None, body=b'{"message":"Resource not accessible"}'))
    await talk.local.review(talk.repository, issue, "alice", comments=[("README.md", 1, "a")])
    await talk.settle()
    (answer,) = [one for one in pull.comments if one.by_app]
    assert "Nothing was pushed" in answer.body
    found = await expected(talk, await talk.last(), note=refusal_note(403, "Resource not accessible", "/agent"))
    assert talk.said_on(issue) == [found.result]
    order = [e.operation for e in talk.local.log]
    assert order.index("git/update-ref") < order.index("pulls/create-reply-for-review-comment")


async def test_a_conversation_that_is_gone_keeps_no_other_from_its_answer(talk: Stage) -> None:
    issue, pull = await opened(talk)
    talk.local.fail(Failure("pulls/create-reply-for-review-comment", 404, times=2))
    await talk.local.review(talk.repository, issue, "alice", comments=[("README.md", 1, "a"), ("README.md", 1, "b")])
    await talk.settle()
    assert len([one for one in pull.comments if one.by_app]) == 1
    assert (await talk.last()).ending == "changed"
