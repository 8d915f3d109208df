"""Whether the asker may, asked anew each time."""

from __future__ import annotations

from bot.repo_rules import Rules
from bot.steps.may import by_rules, still
from tests.bot.a_task import a_task
from tests.bot.stage import Stage

RULES = Rules(agents={"claude": ("m",)}, default_agent="claude", labels={})


def test_a_repository_s_rules_only_take_away() -> None:
    assert by_rules(a_task(), RULES, "write").allowed
    assert not by_rules(a_task(), RULES, "read").allowed
    assert not by_rules(a_task(), RULES, None).allowed
    assert not by_rules(a_task(), RULES.model_copy(update={"users": frozenset({"carol"})}), "admin").allowed
    assert by_rules(a_task(), RULES.model_copy(update={"users": frozenset({"alice"})}), "write").allowed


async def test_what_was_taken_away_meanwhile_is_seen(talk: Stage) -> None:
    await talk.say("/agent fix it")
    await talk.settle()
    task = await talk.the_task()
    world = talk.runner.world
    assert (await still(world, task)).allowed
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"ask: {role: maintain}\n"})
    talk.clock.time += 11
    assert not (await still(world, task)).allowed
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"nonsense: 1\n"})
    talk.clock.time += 11
    assert (await still(world, task)).allowed
    talk.local.set_role(talk.repository, "alice", "triage")
    assert not (await still(world, task)).allowed
