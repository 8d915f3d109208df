"""deploy/runner.md, line by line: the whole life of a sandbox with curl, on the real runner, engine, git and agent."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from bot.demo import scenarios
from bot.demo.github import LocalGitHub
from bot.demo.model import ScriptedModel
from tests.engine import Images
from tests.journey import HOST
from tests.local_sandbox import KEY, bridge_address
from tests.runner_process import runner_process

pytestmark = pytest.mark.engine

PAGE = Path(__file__).parent.parent.parent / "deploy" / "runner.md"
# One line takes what a task takes; half a minute was seen on a busy machine.
LINE_SECONDS = 400.0
SECOND = scenarios.marker(scenarios.shell("wc -l < NOTES.md > COUNT.txt"))


@dataclass(frozen=True)
class Line:
    """A command of the page, and what the page says that it prints."""

    command: str
    expected: str


def lines_of(page: str) -> list[Line]:
    """Those of the section "One life"."""
    section = page.partition("## One life")[2].partition("\n## ")[0]
    found: list[Line] = []
    for block in re.findall(r"```console\n(.*?)```", section, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            found.append(Line(command, expected))
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether this is what the page says; ``…`` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def as_here(text: str, git_url: str, agent: str) -> str:
    """What is another thing in the test than for a reader: where repositories are, and the script for the model."""
    text = text.replace("https://github.com", git_url).replace("agent=claude", f"agent={agent}")
    return text.replace("into COUNT.txt.", f"into COUNT.txt. {SECOND}")


def test_the_page_has_the_whole_life() -> None:
    lines = lines_of(PAGE.read_text())
    text = "\n".join(line.command for line in lines)
    for word in ("/repository", "/task", "/diff", "/outcome", "/events", "/snapshot", "/copy?from=", "-X DELETE"):
        assert word in text
    assert lines[0].command.startswith("call() {")


def test_what_matches() -> None:
    assert matches('{"a":"…"}\n200\n', '{"a":"x\ny"}\n200\n')
    assert not matches('{"a":"…"}\n200\n', '{"a":"x"}\n201\n')


@pytest.mark.parametrize(
    "agent",
    ["claude", *(pytest.param(name, marks=pytest.mark.slow) for name in ("codex", "opencode", "pi"))],
)
async def test_the_whole_life_with_curl(
    agent: str, docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    address = bridge_address(docker_client)
    github, model = LocalGitHub(tmp_path / "github"), ScriptedModel("ok", expected_key=KEY)
    try:
        await github.start(public_host=HOST, also=[address])
        await model.start(address)
        github.add_repository("octo", "hello", {"README.md": b"# Hello\n"})
        environment = environment_of(github, model, images, nothing_left_behind, agent)
        async with runner_process(environment, tmp_path / "runner") as runner:
            seen = os.environ | {"SOCKET": str(runner.socket), "TOKEN": runner.token}
            definition, *lines = lines_of(PAGE.read_text())
            for line in lines:
                command = as_here(line.command, github.git_url, agent)
                printed = await bash(f"{definition.command}\n{command}", seen)
                expected = as_here(line.expected, github.git_url, agent)
                assert matches(expected, printed), f"$ {command}\n{printed}\nwanted:\n{expected}"
            await one_wins(definition.command, seen, github.git_url)
            log = runner.log.read_text()
        assert "/sandboxes/hello/task by bot: 202" in log
        assert runner.token not in log
        assert KEY.get_secret_value() not in log
    finally:
        await model.stop()
        await github.stop()


async def one_wins(definition: str, environment: dict[str, str], git_url: str) -> None:
    """Six starts at the same moment on the real thing; the task that won is ended, and its sandbox discarded."""
    box = "http://runner/sandboxes/race"
    cloned = await bash(f'{definition}\ncall {box}/repository -d \'{{"url": "{git_url}/octo/hello"}}\'', environment)
    assert cloned.endswith("\n200\n"), cloned
    start = f"call {box}/task --data-binary 'Write notes.' &"
    statuses = sorted(re.findall(r"^\d{3}$", await bash(f"{definition}\n{start * 6}\nwait", environment), re.MULTILINE))
    assert statuses == ["202", *["409"] * 5]
    assert await bash(f"{definition}\ncall -X DELETE {box}/task", environment) == "\n202\n"
    ended = f"while call {box}/task | grep -q running; do sleep 1; done; call {box}/outcome"
    assert '"reason":"cancelled"' in await bash(f"{definition}\n{ended}", environment)
    assert await bash(f"{definition}\ncall -X DELETE {box}", environment) == "\n204\n"


def environment_of(
    github: LocalGitHub, model: ScriptedModel, images: Images, instance: str, agent: str
) -> dict[str, str]:
    """What the operator of a runner sets."""
    values = {
        "instance": instance,
        "image_prefix": images.prefix,
        "github_url": github.git_url,
        "github_private": "true",
        "agents": agent,
        "model_url": f"http://{HOST}:{model.port}",
        "model_key": KEY.get_secret_value(),
        "model_private": "true",
        "openai_url": f"http://{HOST}:{model.port}",
        "openai_key": KEY.get_secret_value(),
        "openai_private": "true",
        "workspace_bytes": str(256 * 2**20),
    }
    return {f"GOFER_{name.upper()}": value for name, value in values.items()}


async def bash(script: str, environment: dict[str, str]) -> str:
    """What it prints."""
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(LINE_SECONDS):
            printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return printed.decode()
