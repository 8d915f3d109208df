"""A task on a pull request of a fork: fetched by its commit over real git through the real way out, though the head has
moved, with the base's instructions beside it. With a mirror and without; and a second task on the same workspace."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import docker
import pytest

from bot.demo.github import LocalGitHub
from sandbox import GitHost, Handle, Job, Limits, Outcome, Phase, Sandbox, Secrets, Source
from tests.engine import Images
from tests.local_sandbox import bridge_address, local_sandbox, settings_for
from tests.scripted import ASK, SAY_DONE, agents

pytestmark = pytest.mark.engine

BOUND = 120.0
BASE = {"README.md": b"# Here\n", "CLAUDE.md": b"the base's\n", "AGENTS.md": b"x" * 200_000}
HEAD = {**BASE, "CLAUDE.md": b"the head's\n", "work.txt": b"theirs\n"}
LOOK = (
    f"cat >/dev/null; {ASK} || exit 9; git rev-parse HEAD >head.txt; git status --porcelain >>head.txt; "
    "cat /inputs/instructions/CLAUDE.md >told.txt; ls /inputs/instructions >>told.txt; "
    f"(: >/inputs/instructions/CLAUDE.md) 2>&1 | grep -o 'Read-only' >>told.txt; {SAY_DONE}"
)


@pytest.mark.parametrize("mirror", [True, False], ids=["mirror", "one commit"])
async def test_b58_p05_the_commit_that_was_asked_about_with_the_bases_instructions(
    mirror: bool,
    docker_client: docker.DockerClient,
    engine_host: str,
    images: Images,
    nothing_left_behind: str,
    tmp_path: Path,
) -> None:
    address = bridge_address(docker_client)
    github = LocalGitHub(tmp_path / "github")
    await github.start(public_host="host.docker.internal", also=[address])
    try:
        repository = github.add_repository("octo", "hello", BASE)
        fork = github.add_repository("stranger", "hello", BASE)
        base = github.head(repository, repository.default_branch)
        pull = await github.open_pull(repository, HEAD, user="stranger", fork=fork)
        assert pull.pull is not None
        asked = pull.pull.sha
        later = await github.push(repository, pull, {**HEAD, "work.txt": b"something else\n"})
        settings = settings_for(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")
        host = GitHost(base_url=github.git_url, private=True)
        settings = settings.model_copy(update={"git_host": host, "mirror": mirror})
        source = Source(
            url=f"{github.git_url}/octo/hello",
            commit=asked,
            ref=f"refs/pull/{pull.number}/head",
            instructions=base,
        )
        async with local_sandbox(docker_client, settings, agents=agents(LOOK)) as world:
            first, second = await ended(world.sandbox, source)
    finally:
        await github.stop()
    told = b"the base's\nCLAUDE.md\nRead-only\n"
    for outcome in (first, second):
        assert outcome.changes is not None
        assert outcome.changes.base_commit == asked != later
        held = {file.path: file.content for file in outcome.changes.files}
        assert held["told.txt"] == told
        assert (held["head.txt"] or b"").startswith(f"{asked}\n?? head.txt\n".encode())
        assert "Instructions that the agent did not get, too large or no files: AGENTS.md." in outcome.notes


async def ended(sandbox: Sandbox, source: Source) -> list[Outcome]:
    """Of a task that fetches, and of one that works on in what it left."""
    name = f"t-{secrets.token_hex(4)}"
    outcomes = []
    try:
        for given in (source, None):
            async with asyncio.timeout(BOUND):
                job = Job(name=name, prompt="Look.", source=given, limits=Limits(wall_seconds=60))
                handle = await sandbox.prepare(job, Secrets())
                await sandbox.start(handle)
                while (await sandbox.wait(handle, 5)).phase is Phase.RUNNING:
                    pass
                outcomes.append(await sandbox.outcome(handle))
    finally:
        await sandbox.remove(Handle(name=name))
    return outcomes
