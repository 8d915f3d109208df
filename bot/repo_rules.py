"""What holds for a repository: the operator's rules, narrowed by its own file, narrowed by one command. Pure.

Each step can only take away. What a file or a command names and the operator does not offer is a mistake in words, and
never ignored: who wrote it believes that it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bot.permissions import LOWEST_ROLE, Role
from bot.repo_config import ConfigMistake, RepoConfig
from bot.tasks import Command, Frozen, Trigger
from bot.typos import nearest
from sandbox import Budget, Limits, Setup

DEFAULT_LABEL = "agent"


class OperatorRules(Frozen):
    """What the operator allows to every repository that is served."""

    agents: Mapping[str, tuple[str, ...]]
    """Agents offered, each with its models, the default one first."""
    default_agent: str
    destinations: tuple[str, ...] = ()
    """By the names that a repository's file may use: presets and hosts."""
    limits: Limits = Limits()
    rounds: int = 3
    repository_setup: bool = True
    """Whether a repository's own file may name setup commands (they run in the sandbox all the same)."""


class Rules(Frozen):
    """What holds for one repository."""

    role: Role = LOWEST_ROLE
    users: frozenset[str] | None = None
    """Logins in lower case that may ask; None: everyone with the role."""
    agents: Mapping[str, tuple[str, ...]]
    default_agent: str
    default_model: str | None = None
    result: Literal["diff", "pr"] | None = None
    draft: bool = True
    labels: Mapping[str, str]
    """Label in lower case -> prompt; empty: what the issue says."""
    protected: tuple[str, ...] = ()
    instructions: str = ""
    setup: Setup | None = None
    destinations: tuple[str, ...] | None = None
    """None: all that the operator allows, wherever that is written down."""
    limits: Limits = Limits()
    rounds: int = 3
    everyone_is_told: bool = False
    """The agent is told what anybody wrote on the thread, and not only those who may write."""


class Choice(Frozen):
    """What one task runs with."""

    agent: str
    model: str
    limits: Limits
    result: Literal["diff", "pr"]
    draft: bool
    base: str | None = None


class NotAllowed(Exception):
    """What a command asks for and may not have; ``str()`` is a sentence for the asker. It may quote the command."""


def narrowed(operator: OperatorRules, config: RepoConfig) -> Rules:
    """The rules of a repository. Raises ``ConfigMistake`` for what the operator does not offer."""
    agents = _agents(operator, config)
    default = config.default.agent or (
        operator.default_agent if operator.default_agent in agents else next(iter(agents))
    )
    _one_of("default.agent", default, agents)
    if config.default.model is not None:
        _one_of("default.model", config.default.model, agents[default])
    users = config.ask.users
    return Rules(
        role=Role[config.ask.role.upper()],
        users=None if users is None else frozenset(login.lower() for login in users),
        agents=agents,
        default_agent=default,
        default_model=config.default.model,
        result=config.default.result,
        draft=config.default.draft,
        labels=_labels(config),
        protected=tuple(config.protected_paths),
        instructions=config.instructions,
        setup=_setup(operator, config),
        destinations=_destinations(operator, config),
        limits=_limits(operator, config),
        rounds=operator.rounds if config.rounds is None else min(config.rounds, operator.rounds),
        everyone_is_told=config.context == "everyone",
    )


def _agents(operator: OperatorRules, config: RepoConfig) -> dict[str, tuple[str, ...]]:
    names = _each("agents", config.agents, operator.agents) if config.agents else tuple(operator.agents)
    every = {model for name in names for model in operator.agents[name]}
    models = set(_each("models", config.models, every)) if config.models else every
    found = {name: tuple(model for model in operator.agents[name] if model in models) for name in names}
    return {name: left for name, left in found.items() if left} or _raise("models: none is left for any agent")


def _labels(config: RepoConfig) -> dict[str, str]:
    given = {DEFAULT_LABEL: ""} if config.labels is None else config.labels
    lowered = {label.lower(): prompt.strip() for label, prompt in given.items()}
    if len(lowered) < len(given):
        raise ConfigMistake("labels: two differ in case alone, which GitHub does not tell apart")
    return lowered


def _setup(operator: OperatorRules, config: RepoConfig) -> Setup | None:
    if config.setup is None:
        return None
    if not operator.repository_setup:
        raise ConfigMistake("setup: the operator does not allow a repository to name its own commands")
    given = config.setup
    return Setup(commands=tuple(given.commands), lockfiles=tuple(given.lockfiles), seconds=given.minutes * 60)


def _destinations(operator: OperatorRules, config: RepoConfig) -> tuple[str, ...] | None:
    if config.allowed_destinations is None:
        return None
    return _each("allowed_destinations", config.allowed_destinations, operator.destinations)


def _limits(operator: OperatorRules, config: RepoConfig) -> Limits:
    budget = config.budget
    seconds = None if budget.minutes is None else budget.minutes * 60
    wanted = Budget(
        wall_seconds=seconds, cost_usd=budget.cost_usd, tokens=budget.tokens, model_requests=budget.requests
    )
    try:
        return operator.limits.lowered(wanted)
    except ValueError as error:
        raise ConfigMistake(f"budget: {error}") from None


def _each(
    key: str, names: list[str], offered: Mapping[str, object] | frozenset[str] | set[str] | tuple[str, ...]
) -> tuple[str, ...]:
    for name in names:
        _one_of(key, name, offered)
    return tuple(dict.fromkeys(names))


def _one_of(key: str, name: str, offered: object) -> None:
    known = sorted(map(str, offered))  # type: ignore[call-overload]
    if name not in known:
        hint = f"; it offers: {', '.join(known)}" if known else ""
        raise ConfigMistake(f"{key}: the operator does not offer {name!r}{hint}")


def _raise(words: str) -> dict[str, tuple[str, ...]]:
    raise ConfigMistake(words)


def chosen(rules: Rules, command: Command, trigger: Trigger) -> Choice:
    """What a command runs with. Raises ``NotAllowed`` with what would be allowed."""
    options = command.options
    agent = options.agent or _agent_of(rules, options.model)
    if agent not in rules.agents:
        raise NotAllowed(_refusal("agent", agent, tuple(rules.agents)))
    models = rules.agents[agent]
    default = rules.default_model if rules.default_model in models and agent == rules.default_agent else models[0]
    model = options.model or default or models[0]
    if model not in models:
        raise NotAllowed(_refusal("model", model, models))
    try:
        limits = rules.limits.lowered(options.budget)
    except ValueError as error:
        raise NotAllowed(f"The budget is more than there is: {error}.") from None
    fallback: Literal["diff", "pr"] = "pr" if trigger == "label" else "diff"
    draft = rules.draft if options.draft is None else options.draft
    result = options.result or rules.result if trigger != "label" else options.result
    return Choice(agent=agent, model=model, limits=limits, result=result or fallback, draft=draft, base=options.base)


def _agent_of(rules: Rules, model: str | None) -> str:
    """The default agent, unless only another one has the model that was asked for."""
    having = [name for name, models in rules.agents.items() if model in models]
    return having[0] if model and having and rules.default_agent not in having else rules.default_agent


def _refusal(what: str, name: str, offered: tuple[str, ...]) -> str:
    every = ", ".join(f"`{one}`" for one in offered)
    return f"There is no {what} `{name}` here. Nearest: `{nearest(name, offered)}`; all: {every}."


def may_ask(rules: Rules, login: str, role: Role) -> bool:
    """Whether a person with this role may ask here; that he is one, and served at all, was asked before."""
    return role >= rules.role and (rules.users is None or login.lower() in rules.users)
