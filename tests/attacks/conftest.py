"""The upstreams of one attack file's egresses."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from tests.engine import Images
from tests.sandbox.egress.rig import StandIn, World, world


@pytest.fixture(scope="module")
def here(docker_client: docker.DockerClient, images: Images, instance: str) -> Iterator[World]:
    """A network of this file's own."""
    with world(docker_client, images.egress, instance) as made:
        yield made


@pytest.fixture(scope="module")
def model(here: World) -> Iterator[StandIn]:
    upstream = StandIn(here.gateway)
    yield upstream
    upstream.close()


@pytest.fixture(scope="module")
def git(here: World) -> Iterator[StandIn]:
    upstream = StandIn(here.gateway)
    yield upstream
    upstream.close()
