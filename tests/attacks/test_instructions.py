"""A pull request's head edits what the agent would be told by the repository, against the four real CLIs (P05).

The judge is the model's own log: the base's words are in what it was asked, and no word of the head's. The head's files
stay where they are in the workspace, so that none of this shows in the diff.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import docker
import pytest

from bot.demo import scenarios
from sandbox import AgentName, Limits, Outcome, Reason, Source, State
from tests.engine import Images
from tests.local_sandbox import local_sandbox, settings_for

pytestmark = pytest.mark.engine

AGENTS = [
    "claude",
    "codex",
    pytest.param("opencode", marks=pytest.mark.slow),
    pytest.param("pi", marks=pytest.mark.slow),
]
# Every name that one of the four looks for, at the root.
KINDS = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md")
NESTED = ("src/CLAUDE.md", "src/AGENTS.md")


def words(of: str, name: str) -> str:
    return f"{of}-{name.upper().replace('/', '-')}-WORDS"


def written(of: str, names: tuple[str, ...], also: str = "") -> dict[str, str]:
    return {name: f"{words(of, name)}\n{also}" for name in names}


# What the base's words import is to be the base's as well, and never the head's file of that name.
BASE = {**written("BASE", KINDS), "CLAUDE.md": f"{words('BASE', 'CLAUDE.md')}\n@AGENTS.md\n@docs/more.md\n"}
SKILL = "---\nname: head\ndescription: HEAD-SKILL-WORDS, always to be used\n---\nHEAD-SKILL-WORDS\n"
ELSEWHERE = {
    **{f"{folder}/head/SKILL.md": SKILL for folder in (".claude/skills", ".agents/skills", ".codex/skills")},
    **{f"{folder}/head/SKILL.md": SKILL for folder in (".opencode/skill", ".opencode/skills", ".pi/skills")},
    **{f".claude/{folder}/head.md": SKILL for folder in ("agents", "commands", "rules", "output-styles")},
    **{f".opencode/{folder}/head.md": SKILL for folder in ("agent", "command")},
    **{f".pi/{name}": SKILL for name in ("SYSTEM.md", "APPEND_SYSTEM.md", "prompts/head.md")},
    "CONTEXT.md": "HEAD-CONTEXT-WORDS\n",
    "docs/more.md": "HEAD-IMPORTED-WORDS\n",
}
HEAD = {**written("HEAD", (*KINDS, *NESTED), "@docs/more.md\n"), **ELSEWHERE}
# By the rule of each for which of several counts.
READ = {
    "claude": ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"),
    "codex": ("AGENTS.override.md",),
    "opencode": ("AGENTS.md", "CLAUDE.md"),
    "pi": ("AGENTS.override.md",),
}


def pull_request(folder: Path, base: dict[str, str], head: dict[str, str]) -> tuple[bytes, str]:
    """A bundle whose HEAD is a pull request's head; and the commit that it was made from."""
    repo = folder / "repo"
    _git(folder, "init", "-q", "-b", "main", str(repo))
    commits = []
    for files in ({"README.md": "# Here\n", "src/app.py": "x = 1\n"} | base, head):
        for path, text in files.items():
            (repo / path).parent.mkdir(parents=True, exist_ok=True)
            (repo / path).write_text(text)
        _git(repo, "add", "-A", "-f")
        _git(repo, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "x")
        commits.append(_git(repo, "rev-parse", "HEAD").decode().strip())
    return _git(repo, "bundle", "create", "-q", "-", "HEAD"), commits[0]


def _git(folder: Path, *args: str) -> bytes:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(["git", *args], cwd=folder, env=environment, check=True, capture_output=True).stdout


# In words that would call for a skill or a command of that name, where there were one.
PROMPT = "Look at this change. $head /head [$head](.agents/skills/head/SKILL.md)"


class Task:
    """One task on such a head."""

    def __init__(self, client: docker.DockerClient, host: str, images: Images, instance: str, folder: Path) -> None:
        self._client, self._folder = client, folder
        self._settings = settings_for(host, images.prefix, instance, folder / "state")

    async def run(
        self, agent: AgentName, base: dict[str, str], head: dict[str, str], *, told: bool = True, scenario: str = "noop"
    ) -> tuple[Outcome, list[str]]:
        """The outcome, and the bodies of the model's questions."""
        bundle, commit = pull_request(self._folder, base, head)
        source = Source(url="https://github.com/o/r", bundle=bundle, instructions=commit if told else None)
        async with local_sandbox(self._client, self._settings, agent=agent, scenario=scenario) as world:
            outcome = await world.run(PROMPT, source, Limits(wall_seconds=100))
            return outcome, [seen.body.decode() for seen in world.model.questions]


@pytest.fixture
def task(
    docker_client: docker.DockerClient, engine_host: str, images: Images, nothing_left_behind: str, tmp_path: Path
) -> Task:
    return Task(docker_client, engine_host, images, nothing_left_behind, tmp_path)


@pytest.mark.parametrize("agent", AGENTS)
async def test_p05_the_bases_words_reach_the_model_and_the_heads_do_not(agent: AgentName, task: Task) -> None:
    outcome, questions = await task.run(agent, BASE, HEAD)
    assert (outcome.state, outcome.reason) == (State.SUCCEEDED, Reason.UNCHANGED), outcome.error
    assert questions
    for name in READ[agent]:
        assert words("BASE", name) in questions[0], name
    for question in questions:
        assert "HEAD-" not in question
        assert words("BASE", "CLAUDE.local.md") not in question
    assert outcome.changes is not None
    assert outcome.changes.files == ()  # nothing was laid over the head's files
    assert outcome.changes.notes == ()


@pytest.mark.slow
@pytest.mark.parametrize("agent", READ)
async def test_p05_where_the_base_tells_nothing_the_head_does_not_either(agent: AgentName, task: Task) -> None:
    outcome, questions = await task.run(agent, {}, HEAD)
    assert outcome.state is State.SUCCEEDED, outcome.error
    assert questions
    assert not any("HEAD-" in question for question in questions)


@pytest.mark.slow
@pytest.mark.parametrize("agent", READ)
async def test_p05_a_file_that_is_read_does_not_bring_the_instructions_beside_it(agent: AgentName, task: Task) -> None:
    """But with OpenCode, which no switch keeps from it (deploy/threat-model.md, "What is not held"): it shows them with
    what the file holds, as it would show any other file of the head's."""
    outcome, questions = await task.run(agent, BASE, HEAD, scenario=scenarios.read("src/app.py"))
    assert outcome.state is State.SUCCEEDED, outcome.error
    assert "x = 1" in questions[-1]
    shown = {word for question in questions for word in re.findall(r"HEAD-[A-Z.-]+", question)}
    assert shown == ({words("HEAD", "src/AGENTS.md")} if agent == "opencode" else set())


@pytest.mark.slow
@pytest.mark.parametrize("agent", READ)
async def test_the_heads_words_reach_the_model_where_they_are_let_in(agent: AgentName, task: Task) -> None:
    """The tests above prove nothing unless their traps spring: without copies of another commit's they do."""
    outcome, questions = await task.run(agent, BASE, HEAD, told=False)
    assert outcome.state is State.SUCCEEDED, outcome.error
    assert any("HEAD-" in question for question in questions)
