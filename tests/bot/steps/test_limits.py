"""The limits of an hour, held against the store."""

from __future__ import annotations

import dataclasses

import pytest

from bot.allowance import Allowance
from bot.steps.limits import over
from tests.bot.stage import Stage


@pytest.mark.parametrize(
    ("allowance", "words"),
    [
        (Allowance(person=1), "You have asked 1 times"),
        (Allowance(repository=1), "This repository has asked 1 times"),
        (Allowance(everybody=1), "I have been asked 1 times"),
    ],
)
async def test_each_limit_has_its_own_words_and_says_when(talk: Stage, allowance: Allowance, words: str) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    talk.clock.time += 600
    task, world = await talk.the_task(), talk.runner.world
    limited = dataclasses.replace(world, rules=dataclasses.replace(world.rules, allowance=allowance))
    said = await over(limited, task)
    assert said is not None
    assert words in said
    assert "in 50 min" in said
    assert await over(world, task) is None
    talk.clock.time += 3000
    assert await over(limited, task) is None


async def test_what_was_refused_counts_for_nothing(talk: Stage) -> None:
    await talk.say("/agent fix it", user="bob")
    await talk.say("/agent --agent nobody fix it")
    await talk.say("/agent help")
    await talk.settle()
    assert any("There is no agent `nobody` here." in body for body in talk.said)
    world, task = talk.runner.world, await talk.last()
    limited = dataclasses.replace(world, rules=dataclasses.replace(world.rules, allowance=Allowance(1, 1, 1)))
    assert await over(limited, task) is None
