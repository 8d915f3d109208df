"""Removing a sandbox: what is in use for a moment is waited for, and what is kept by somebody is told."""

from __future__ import annotations

import asyncio

import docker
import pytest

from sandbox import Secrets, Unreachable
from sandbox.background import spawn
from tests.engine import Images
from tests.sandbox.test_service import Bench, bench

__all__ = ["bench"]

pytestmark = pytest.mark.engine


def holder(client: docker.DockerClient, image: str, volume: str) -> str:
    """A container of somebody else's that uses a volume of ours; nothing finds it by our labels."""
    mounts = {volume: {"bind": "/held", "mode": "ro"}}
    return str(client.containers.create(image, "true", network_mode="none", volumes=mounts).id)


async def test_a_volume_that_is_in_use_for_a_moment_is_waited_for(
    bench: Bench, docker_client: docker.DockerClient, images: Images
) -> None:
    async with bench.service() as service:
        await service.prepare(bench.job(), Secrets())
        held = holder(docker_client, images.base, bench.container("inputs"))
        removing = spawn(service.remove(bench.handle), name="remove")
        try:
            # the containers are gone, so what is left waits for the volume
            async with asyncio.timeout(30):
                while (await service.status(bench.handle)).phase.value != "preparing":  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        finally:
            docker_client.api.remove_container(held, force=True)
        await removing
        assert await service.handles() == ()


async def test_a_volume_that_somebody_keeps_is_told_and_found_again(
    bench: Bench, docker_client: docker.DockerClient, images: Images
) -> None:
    async with bench.service() as service:
        await service.prepare(bench.job(), Secrets())
        held = holder(docker_client, images.base, bench.container("inputs"))
        try:
            with pytest.raises(Unreachable, match="in use"):
                await service.remove(bench.handle)
            assert await service.handles() == (bench.handle,)
        finally:
            docker_client.api.remove_container(held, force=True)
        await service.remove(bench.handle)
        assert await service.handles() == ()


async def test_a_volume_that_the_engine_made_up_is_in_nobodys_way(
    bench: Bench, docker_client: docker.DockerClient, images: Images
) -> None:
    """An engine makes a volume without labels for a container whose own was removed a moment before."""
    name = bench.container("inputs")
    async with bench.service() as service:
        docker_client.volumes.create(name)
        with pytest.raises(Unreachable, match="other options or labels"):
            await service.prepare(bench.job(), Secrets())
        assert name not in {volume.name for volume in docker_client.volumes.list()}
        await service.prepare(bench.job(), Secrets())
        somebody_elses = docker_client.volumes.create(f"{name}-x", labels={"gofer.instance": "somebody-else"})
        await service.remove(bench.handle)
        somebody_elses.remove()  # it was left alone


@pytest.mark.parametrize("started", [True, False], ids=["it runs", "it was never started"])
async def test_s22_a_store_helper_of_a_killed_process_is_removed_once_it_has_ended(
    started: bool, bench: Bench, docker_client: docker.DockerClient, images: Images
) -> None:
    async with bench.service() as first:  # makes the instance
        assert await first.handles() == ()
    labels = {"gofer.instance": bench.settings.instance, "gofer.sandbox": "", "gofer.role": "store"}
    stray = docker_client.containers.create(images.base, ["-c", "sleep 2"], entrypoint="/bin/sh", labels=labels)
    if started:
        stray.start()
    async with bench.service(), asyncio.timeout(20):
        while docker_client.containers.list(all=True, filters={"id": str(stray.id)}):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
