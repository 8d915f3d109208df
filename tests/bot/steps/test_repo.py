"""A repository's rules: read from the default branch, strict, and held for seconds."""

from __future__ import annotations

import pytest

from bot.demo.github import Failure
from bot.repo_config import ConfigMistake
from bot.steps.repo import HOLDS, REMEMBERED, rules_at, rules_of
from bot.steps.world import where_of
from tests.bot.stage import Stage


async def test_rules_are_read_once_for_a_while_and_then_anew(talk: Stage) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    task, world = await talk.the_task(), talk.runner.world
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"rounds: 1\n"})
    assert (await rules_of(world, task)).rounds == 3
    talk.clock.time += HOLDS
    assert (await rules_of(world, task)).rounds == 1
    assert await rules_at(world, where_of(task)) == await rules_of(world, task)


async def test_v02_rules_that_were_there_are_not_lifted_because_github_misses_the_file_once(talk: Stage) -> None:
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"rounds: 1\n"})
    await talk.say("/agent fix it")
    await talk.settle()
    task, world = await talk.the_task(), talk.runner.world
    talk.local.fail(Failure("repos/get-content", 404))
    talk.clock.time += HOLDS
    assert (await rules_of(world, task)).rounds == 1
    talk.local.fail(Failure("repos/get-content", 404, times=2))
    talk.clock.time += HOLDS
    assert (await rules_of(world, task)).rounds == 3


async def test_another_branch_s_file_is_nobody_s_rule(talk: Stage) -> None:
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"rounds: 1\n"}, branch="topic")
    await talk.say("/agent fix it")
    await talk.settle()
    assert (await rules_of(talk.runner.world, await talk.the_task())).rounds == 3


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"nonsense: 1\n", b"allowed_destinations: [npm]\n", b"x" * 70_000])
async def test_what_cannot_be_read_is_a_mistake_and_never_permissive(talk: Stage, raw: bytes) -> None:
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": raw})
    await talk.say("/agent fix it")
    await talk.settle()
    assert talk.jobs == []
    assert "`.github/gofer.yml` on the default branch has a mistake" in talk.said[0]
    with pytest.raises(ConfigMistake):
        await rules_of(talk.runner.world, await talk.the_task())


async def test_a_mended_file_counts_at_once(talk: Stage) -> None:
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"nonsense: 1\n"})
    await talk.say("/agent fix it")
    await talk.settle()
    assert "nonsense: there is no such key" in talk.said[0]
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"rounds: 1\n"})
    await talk.say("/agent now fix it")
    await talk.settle()
    assert len(talk.jobs) == 1


async def test_github_that_does_not_answer_for_it_is_asked_again(talk: Stage) -> None:
    outage = talk.local.fail(Failure("repos/get-content", 503, times=None))
    await talk.say("/agent fix it")
    await talk.settle()
    assert talk.jobs == []
    talk.local.failures.remove(outage)
    talk.clock.time += 61
    await talk.settle()
    assert len(talk.jobs) == 1


async def test_what_is_remembered_is_bounded(talk: Stage) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    world = talk.runner.world
    known = world.files[talk.repository.id]
    for number in range(REMEMBERED):
        world.files[number] = known
    talk.clock.time += HOLDS
    await rules_of(world, await talk.the_task())
    assert len(world.files) <= REMEMBERED + 1
