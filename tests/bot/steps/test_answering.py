"""Answering at once, and for good."""

from __future__ import annotations

from bot import conversation_words as said
from bot.demo.github import Failure
from tests.bot.expected import answer
from tests.bot.stage import Stage


async def test_an_answer_is_one_comment_and_the_end(talk: Stage) -> None:
    comment = await talk.say("/agent hepl")
    await talk.settle()
    task = await talk.the_task()
    assert (task.state, task.ending) == ("done", "helped")
    assert len(talk.said) == 1
    assert task.result_comment_id is not None
    assert talk.reactions(comment) == ["confused"]


async def test_b82_an_answer_made_by_a_call_that_failed_is_there_once(talk: Stage) -> None:
    talk.local.fail(Failure("issues/create-comment", 502, times=1, after_effect=True))
    await talk.say("/agent status")
    await talk.settle()
    talk.clock.time += 61
    await talk.settle()
    task = await talk.the_task()
    assert talk.said == [answer(task, said.status([]))]
    assert task.ending == "helped"


async def test_b37_a_locked_thread_is_answered_by_nothing_and_asked_once(talk: Stage) -> None:
    talk.issue.locked = True
    await talk.say("/agent status")
    await talk.settle()
    assert talk.said == []
    assert (await talk.the_task()).ending == "undeliverable"
