"""The broom itself: it finds what a test left behind, loop devices included, and takes it away."""

from __future__ import annotations

import docker
import pytest

from tests.engine import Images, Leftover, labelled, loop_names, store, sweep


@pytest.mark.engine
def test_the_broom_finds_and_removes_containers_volumes_networks_and_loop_devices(
    docker_client: docker.DockerClient, images: Images, instance: str
) -> None:
    own = f"{instance}broom"
    labels = {"gofer.instance": own, "gofer.sandbox": "x"}
    client = docker_client
    client.containers.create(images.base, ["true"], name=f"gofer-{own}-x-agent", labels=labels)
    client.volumes.create(f"gofer-{own}-x-ws", labels=labels)
    client.volumes.create(f"gofer-{own}-images", labels={"gofer.instance": own})
    client.networks.create(f"gofer-{own}", labels={"gofer.instance": own})
    store(client, own, "make", "x", str(16 * 2**20), "1000", str(16 * 2**20), "1000", "0" * 32)

    assert {thing.kind for thing in labelled(client, own)} == {"container", "volume", "network"}
    assert labelled(client, own, "gofer.sandbox") == [
        Leftover("container", f"gofer-{own}-x-agent"), Leftover("volume", f"gofer-{own}-x-ws")
    ]  # fmt: skip
    assert loop_names(client, own) == ["x"]

    sweep(client, own)
    assert labelled(client, own) == []
    assert loop_names(client, own) == []
    sweep(client, own)
