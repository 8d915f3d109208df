"""A result as large as its bounds: what changed files hold comes whole or not at all, here and through a runner."""

from __future__ import annotations

from pathlib import Path

import docker
import pytest

from bot.demo import scenarios
from sandbox import State
from tests.engine import Images
from tests.local_sandbox import bundle, local_sandbox, settings_for

pytestmark = [pytest.mark.engine, pytest.mark.slow]

MIB = 2**20
# Zeros: the patch is small, and 16 MiB of it would not hold them otherwise.
WRITE = "for n in 1 2 3 4 5; do truncate -s 8M file$n; done; truncate -s 11M over; truncate -s 10M rest; echo x > z"


async def test_what_is_beyond_the_bounds_is_in_the_patch_alone_and_said(
    docker_client: docker.DockerClient, engine_host: str, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    settings = settings_for(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")
    source = bundle(tmp_path, {"README.md": b"# Here\n"})
    async with local_sandbox(docker_client, settings, scenario=scenarios.shell(WRITE)) as world:
        outcome = await world.run("Write.", source)
    assert outcome.state is State.SUCCEEDED, outcome.error
    assert outcome.changes is not None
    assert outcome.changes.refusal == ""
    held = {file.path: None if file.content is None else len(file.content) for file in outcome.changes.files}
    # 32 MiB are the first four; of what comes after, only what holds nothing would fit.
    assert held == {**dict.fromkeys(("file1", "file2", "file3", "file4"), 8 * MIB), "file5": None, "over": None,
                    "rest": None, "z": None}  # fmt: skip
    assert outcome.changes.notes == ("Too large to be handed over beside the patch (4): file5, over, rest, z.",)
    assert b"diff --git a/over b/over" in (outcome.changes.patch or b"")
