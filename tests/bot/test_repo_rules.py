from __future__ import annotations

from typing import Any

import pytest

from bot.permissions import Role
from bot.repo_config import ConfigMistake, RepoConfig
from bot.repo_rules import NotAllowed, OperatorRules, Rules, chosen, may_ask, narrowed
from bot.tasks import Command, Options, Verb
from sandbox import Budget, Limits, Setup

OPERATOR = OperatorRules(
    agents={"claude": ("sonnet", "opus"), "codex": ("gpt-5.5",)},
    default_agent="claude",
    destinations=("npm", "pypi"),
    limits=Limits(wall_seconds=1800, cost_usd=5, tokens=1000, model_requests=100),
    rounds=3,
)


def rules(**given: Any) -> Rules:
    return narrowed(OPERATOR, RepoConfig.model_validate(given))


def asked(**options: Any) -> Command:
    return Command(verb=Verb.RUN, prompt="x", options=Options.model_validate(options))


def test_without_a_file_the_operators_rules_hold() -> None:
    found = rules()
    assert (found.role, found.users, found.rounds) == (Role.WRITE, None, 3)
    assert found.agents == OPERATOR.agents
    assert found.labels == {"agent": ""}
    assert found.destinations is None  # all that the operator allows
    assert found.limits == OPERATOR.limits


def test_a_file_takes_away() -> None:
    found = rules(
        ask={"role": "admin", "users": ["Octocat"]},
        agents=["codex"],
        labels={"Fix It": " do it "},
        allowed_destinations=[],
        budget={"minutes": 5, "cost_usd": 1, "tokens": 10, "requests": 2},
        rounds=1,
        setup={"commands": ["make deps"], "lockfiles": ["lock"], "minutes": 2},
        context="everyone",
    )
    assert (found.role, found.users) == (Role.ADMIN, frozenset({"octocat"}))
    assert (dict(found.agents), found.default_agent) == ({"codex": ("gpt-5.5",)}, "codex")
    assert found.labels == {"fix it": "do it"}
    assert (found.destinations, found.rounds, found.everyone_is_told) == ((), 1, True)
    lowered = {"wall_seconds": 300, "cost_usd": 1.0, "tokens": 10, "model_requests": 2}
    assert found.limits == OPERATOR.limits.model_copy(update=lowered)
    assert found.setup == Setup(commands=("make deps",), lockfiles=("lock",), seconds=120)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"agents": ["pi"]}, "agents: the operator does not offer 'pi'; it offers: claude, codex"),
        ({"models": ["haiku"]}, "models: the operator does not offer 'haiku'"),
        ({"agents": ["codex"], "models": ["opus"]}, "models: the operator does not offer 'opus'"),
        ({"agents": ["codex"], "default": {"agent": "claude"}}, "default.agent: the operator does not offer 'claude'"),
        ({"default": {"model": "gpt-5.5"}}, "default.model: the operator does not offer 'gpt-5.5'"),
        ({"allowed_destinations": ["evil.test"]}, "allowed_destinations: the operator does not offer 'evil.test'"),
        ({"budget": {"cost_usd": 6}}, "budget: cost_usd may be 5.0 at most; 6.0 was asked for"),
        ({"budget": {"minutes": 31}}, "budget: wall_seconds may be 1800 at most; 1860 was asked for"),
        ({"labels": {"A": "", "a": ""}}, "labels: two differ in case alone"),
    ],
)
def test_d07_a_file_that_would_widen_is_told_and_holds_nothing_open(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigMistake) as caught:
        rules(**given)
    assert str(caught.value).startswith(words)


def test_rounds_above_the_operators_are_the_operators() -> None:
    assert rules(rounds=99).rounds == 3


def test_setup_commands_of_a_repository_can_be_switched_off() -> None:
    closed = OPERATOR.model_copy(update={"repository_setup": False})
    with pytest.raises(ConfigMistake, match="setup: the operator does not allow"):
        narrowed(closed, RepoConfig.model_validate({"setup": {"commands": ["x"]}}))


def test_a_command_chooses_among_what_is_left() -> None:
    plain = chosen(rules(), asked(), "comment")
    assert (plain.agent, plain.model, plain.result, plain.draft) == ("claude", "sonnet", "diff", True)
    other = chosen(rules(), asked(agent="codex", result="pr", draft=False, base="v1"), "comment")
    assert (other.agent, other.model, other.result, other.draft, other.base) == ("codex", "gpt-5.5", "pr", False, "v1")
    assert chosen(rules(), asked(model="opus"), "comment").model == "opus"
    assert chosen(rules(), asked(model="gpt-5.5"), "comment").agent == "codex"
    assert chosen(rules(), asked(budget=Budget(tokens=7)), "comment").limits.tokens == 7
    assert chosen(rules(default={"model": "opus"}), asked(), "comment").model == "opus"
    assert chosen(rules(default={"model": "opus"}), asked(agent="codex"), "comment").model == "gpt-5.5"


@pytest.mark.parametrize(
    ("trigger", "file", "option", "result"),
    [
        ("comment", None, None, "diff"),
        ("comment", "pr", None, "pr"),
        ("comment", "pr", "diff", "diff"),
        ("label", None, None, "pr"),
        ("label", "diff", None, "pr"),
        ("review", None, None, "diff"),
    ],
)
def test_what_comes_of_it_where_the_command_does_not_say(trigger: Any, file: Any, option: Any, result: str) -> None:
    assert chosen(rules(default={"result": file}), asked(result=option), trigger).result == result


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"agent": "codx"}, "There is no agent `codx` here. Nearest: `codex`; all: `claude`, `codex`."),
        ({"model": "opsu"}, "There is no model `opsu` here. Nearest: `opus`; all: `sonnet`, `opus`."),
        ({"agent": "codex", "model": "opus"}, "There is no model `opus` here."),
        ({"budget": {"cost_usd": 9}}, "The budget is more than there is: cost_usd may be 5.0 at most"),
    ],
)
def test_a_command_that_wants_more_is_told_what_there_is(options: dict[str, Any], words: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        chosen(rules(), asked(**options), "comment")
    assert str(caught.value).startswith(words)


def test_only_those_who_are_named_may_ask() -> None:
    named = rules(ask={"users": ["Octocat"], "role": "maintain"})
    assert may_ask(named, "OCTOCAT", Role.ADMIN)
    assert not may_ask(named, "octocat", Role.WRITE)
    assert not may_ask(named, "hubot", Role.ADMIN)
    assert may_ask(rules(), "hubot", Role.WRITE)
