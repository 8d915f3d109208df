"""The agent CLIs that can work in a sandbox, by their names. Another one is a file here and a line below."""

from __future__ import annotations

from sandbox.agents.agent import Agent, Reader, Run
from sandbox.agents.claude import Claude
from sandbox.agents.codex import Codex
from sandbox.agents.opencode import OpenCode
from sandbox.agents.pi import Pi

__all__ = ["AGENTS", "Agent", "Reader", "Run"]

AGENTS: dict[str, Agent] = {agent.name: agent for agent in (Claude(), Codex(), OpenCode(), Pi())}
