"""Which agents and models may be used. Reads no environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import BeforeValidator, Field, TypeAdapter

from bot.config_checks import nearest
from bot.config_limits import LimitSettings
from sandbox import AgentName, default_model

AGENT_NAMES: tuple[AgentName, ...] = get_args(AgentName)
_one_agent: TypeAdapter[AgentName] = TypeAdapter(AgentName)
# As the agents themselves take a model's name.
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}", re.ASCII)


def words_of(text: str) -> tuple[str, ...]:
    """The entries of a list with commas or white space between them."""
    return tuple(entry for entry in re.split(r"[\s,]+", text) if entry)


def agent_names(value: object) -> str:
    """At least one agent, none twice, all known."""
    names = words_of(str(value))
    if not names:
        raise ValueError(f"it is empty; name some of {', '.join(AGENT_NAMES)}")
    for name in names:
        if name not in AGENT_NAMES:
            raise ValueError(f"{name} is no agent; nearest: {nearest(name, AGENT_NAMES)}")
    if len(set(names)) != len(names):
        raise ValueError("an agent is there twice")
    return ", ".join(names)


def agent_name(value: object) -> object:
    """One agent, or none."""
    if value and value not in AGENT_NAMES:
        raise ValueError(f"it is no agent; nearest: {nearest(str(value), AGENT_NAMES)}")
    return value


def model_names(value: object) -> str:
    """Any number of models, none twice."""
    names = words_of(str(value))
    for name in names:
        if not _MODEL.fullmatch(name):
            raise ValueError(f"{name[:64]!r} is not the name of a model")
    if len(set(names)) != len(names):
        raise ValueError("a model is there twice")
    return ", ".join(names)


def _models(agent: str) -> str:
    return f"models that a task may choose for {agent}, the default one first; {agent}'s own default if empty"


Models = Annotated[str, BeforeValidator(model_names)]


class AgentChoices(LimitSettings):
    """What tasks may be done with. A bot whose sandboxes are a runner's may narrow what the runner offers."""

    agents: Annotated[str, BeforeValidator(agent_names)] = Field(
        default="claude", description=f"agents that may be used, of {', '.join(AGENT_NAMES)}, separated by commas"
    )
    agent: Annotated[str, BeforeValidator(agent_name)] = Field(
        default="", description="the agent of a task that names none; the first of GOFER_AGENTS if empty"
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="the model of a task that names none, for that agent; "
        "`claude-sonnet-4-5` for claude if neither this nor GOFER_CLAUDE_MODELS is given",
    )
    claude_models: Models = Field(default="", description=_models("claude"))
    codex_models: Models = Field(default="", description=_models("codex"))
    opencode_models: Models = Field(default="", description=_models("opencode"))
    pi_models: Models = Field(default="", description=_models("pi"))

    @property
    def default_agent(self) -> AgentName:
        return _one_agent.validate_python(self.agent or words_of(self.agents)[0])

    @property
    def offered(self) -> Mapping[AgentName, tuple[str, ...]]:
        """The agents that may be used, each with its models, the default one first."""
        return {name: self._models_of(name) for name in AGENT_NAMES if name in words_of(self.agents)}

    def _models_of(self, name: AgentName) -> tuple[str, ...]:
        listed = words_of(getattr(self, f"{name}_models"))
        if self.model is not None and name == self.default_agent:
            return (self.model, *(model for model in listed if model != self.model))
        return listed or (default_model(name),)

    def mistaken_choices(self) -> list[str]:
        """What the fields are not together, in words."""
        if self.agent and self.agent not in words_of(self.agents):
            return [f"GOFER_AGENT: {self.agent} is not in GOFER_AGENTS"]
        return []
