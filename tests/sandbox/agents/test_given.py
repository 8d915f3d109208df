"""Copies of instruction files: which count for which agent, and that its own way to the repository's is shut."""

from __future__ import annotations

import json

import pytest

from sandbox.agents import AGENTS, Run
from sandbox.agents.agent import GIVEN
from sandbox.agents.given import first

ALL = {"CLAUDE.md": b"one", ".claude/CLAUDE.md": b"two", "AGENTS.md": b"three", "AGENTS.override.md": b"four"}


def test_the_first_that_says_something_counts() -> None:
    assert first(ALL, ("AGENTS.override.md", "AGENTS.md"), "x") == {"x": b"four"}
    assert first(ALL | {"AGENTS.override.md": b" \n"}, ("AGENTS.override.md", "AGENTS.md"), "x") == {"x": b"three"}
    assert first({}, ("AGENTS.md",), "x") == {}


def test_claude_imports_both_of_its_own_or_else_the_other() -> None:
    claude = AGENTS["claude"]
    assert claude.instructions(ALL) == {
        ".claude/CLAUDE.md": f"@{GIVEN}/CLAUDE.md\n@{GIVEN}/.claude/CLAUDE.md\n".encode()
    }
    assert claude.instructions({"AGENTS.md": b"x"}) == {".claude/CLAUDE.md": f"@{GIVEN}/AGENTS.md\n".encode()}
    assert claude.instructions({}) == {}


@pytest.mark.parametrize(("name", "target"), [("codex", ".codex/AGENTS.md"), ("pi", ".pi/agent/APPEND_SYSTEM.md")])
def test_codex_and_pi_have_one_file_in_home(name: str, target: str) -> None:
    assert AGENTS[name].instructions(ALL) == {target: b"four"}
    assert AGENTS[name].instructions({"CLAUDE.md": b"one"}) == {target: b"one"}


def test_opencode_is_told_their_places() -> None:
    run = Run("m", instructions=True)
    configuration = json.loads(AGENTS["opencode"].environment(run)["OPENCODE_CONFIG_CONTENT"])
    assert configuration["instructions"] == [f"{GIVEN}/AGENTS.md", f"{GIVEN}/CLAUDE.md"]
    assert AGENTS["opencode"].instructions(ALL) == {}


@pytest.mark.parametrize("name", AGENTS)
def test_p05_nothing_of_the_workspace_is_named_where_copies_are_given(name: str) -> None:
    given, plain = Run("m", instructions=True), Run("m")
    agent = AGENTS[name]
    told = [*agent.command(given), *agent.environment(given).values()]
    assert not any("/ws/repo" in part for part in told)
    assert (agent.command(given), agent.environment(given)) != (agent.command(plain), agent.environment(plain))


def test_p05_skills_of_the_repository_are_not_offered_either() -> None:
    run = Run("m", instructions=True)
    assert "--config=skills.include_instructions=false" in AGENTS["codex"].command(run)
    assert "--config=project_doc_max_bytes=0" in AGENTS["codex"].command(run)
    inside = AGENTS["opencode"].environment(run)
    assert inside["OPENCODE_DISABLE_EXTERNAL_SKILLS"] == inside["OPENCODE_DISABLE_CLAUDE_CODE_SKILLS"] == "1"
    assert "--no-context-files" in AGENTS["pi"].command(run)
