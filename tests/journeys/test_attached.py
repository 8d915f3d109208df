"""Files that come along with a prompt, in a real sandbox: the agent reads them byte for byte, and can change none."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import docker
import pytest

from bot.demo.github import LocalGitHub
from sandbox import Attachment, GitHost, Handle, Job, Limits, Outcome, Phase, Sandbox, Secrets, Source
from tests.engine import Images
from tests.local_sandbox import bridge_address, local_sandbox, settings_for
from tests.scripted import ASK, SAY_DONE, agents

pytestmark = pytest.mark.engine

BOUND = 120.0
IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
LOOK = (
    f"cat >/dev/null; {ASK} || exit 9; cp /inputs/attachments/image-1.png seen.bin; "
    "(: >/inputs/attachments/image-1.png) 2>&1 | grep -o 'Read-only' >refused.txt; "
    f"(: >/inputs/attachments/other) 2>&1 | grep -o 'Read-only' >>refused.txt; {SAY_DONE}"
)


async def test_b86_an_image_of_the_thread_reaches_the_agent_whole_and_for_reading(
    docker_client: docker.DockerClient, engine_host: str, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    github = LocalGitHub(tmp_path / "github")
    await github.start(public_host="host.docker.internal", also=[bridge_address(docker_client)])
    try:
        github.add_repository("octo", "hello", {"README.md": b"# Here\n"})
        settings = settings_for(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")
        settings = settings.model_copy(update={"git_host": GitHost(base_url=github.git_url, private=True)})
        async with local_sandbox(docker_client, settings, agents=agents(LOOK)) as world:
            outcome = await ended(world.sandbox, Source(url=f"{github.git_url}/octo/hello"))
    finally:
        await github.stop()
    assert outcome.changes is not None
    held = {file.path: file.content for file in outcome.changes.files}
    assert held == {"seen.bin": IMAGE, "refused.txt": b"Read-only\nRead-only\n"}


async def ended(sandbox: Sandbox, source: Source) -> Outcome:
    name = f"t-{secrets.token_hex(4)}"
    given = (Attachment(name="image-1.png", data=IMAGE),)
    try:
        async with asyncio.timeout(BOUND):
            job = Job(name=name, prompt="Look.", source=source, limits=Limits(wall_seconds=60), attachments=given)
            handle = await sandbox.prepare(job, Secrets())
            await sandbox.start(handle)
            while (await sandbox.wait(handle, 5)).phase is Phase.RUNNING:
                pass
            return await sandbox.outcome(handle)
    finally:
        await sandbox.remove(Handle(name=name))
