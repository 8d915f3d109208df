"""One folder of images and its volumes for a test that runs the helper scripts for real."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from tests.engine import Images
from tests.sandbox.inside.helpers import Helpers


@pytest.fixture
def helpers(docker_client: docker.DockerClient, images: Images, instance: str) -> Iterator[Helpers]:
    helpers = Helpers(docker_client, images.base, instance)
    yield helpers
    helpers.close()
