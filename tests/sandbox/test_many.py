"""Forty sandboxes at once through one service: none fails, for none takes another's time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import docker
import pytest

from sandbox import Limits, State
from tests.engine import Images
from tests.local_sandbox import bundle, local_sandbox, settings_for
from tests.scripted import GOOD, agents

COUNT = 40
# Each is given the time of all: they took a minute and a half on two cores that did much else.
LIMITS = Limits(wall_seconds=900, workspace_bytes=32 * 2**20, workspace_inodes=5_000)


@pytest.mark.engine
@pytest.mark.slow
async def test_forty_at_once(
    engine_host: str, docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    settings = settings_for(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")
    source = bundle(tmp_path, {"README.md": b"# Hello\n"})
    async with local_sandbox(docker_client, settings, agents=agents(GOOD)) as box:
        runs = (box.run("Write some notes.", source, LIMITS) for _ in range(COUNT))
        outcomes = await asyncio.gather(*runs, return_exceptions=True)
    assert [outcome for outcome in outcomes if isinstance(outcome, BaseException)] == []
    states = [outcome.state for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert states == [State.SUCCEEDED] * COUNT
