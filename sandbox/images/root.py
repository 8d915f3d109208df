"""The Debian root that all images stand on: local, else pulled, else made with debootstrap under the same name."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import docker
from docker.errors import APIError, ImageNotFound
from requests.exceptions import RequestException

from sandbox.images.context import PROJECT

DEFAULT_ROOT = "debian:trixie-slim"
SCRIPT = PROJECT / "deploy" / "setup" / "debian-root.sh"
# 70 to 100 s were seen; a slow mirror is given ten times that.
BOOTSTRAP_SECONDS = 1200


class RootMissing(Exception):
    """The Debian root could not be had; ``str()`` says what to do."""


def root_id(client: docker.DockerClient, name: str, mirror: str, say: Callable[[str], None]) -> str:
    """The ID of the local image ``name``, which is pulled or made where it is not there yet.

    An empty ``mirror`` leaves the choice to debootstrap.
    """
    try:
        return str(client.images.get(name).id)
    except ImageNotFound:
        say(f"{name} is not here; asking its registry")
    try:
        return str(client.images.pull(name).id)
    except (APIError, RequestException) as error:
        if name != DEFAULT_ROOT:
            raise RootMissing(f"{name} is not here and could not be pulled: {error}") from None
        say(f"no registry gave it; making {name} with debootstrap from {mirror or 'its own mirror'}")
    return _bootstrap(client, name, mirror)


def _bootstrap(client: docker.DockerClient, name: str, mirror: str) -> str:
    repository, _, tag = name.partition(":")
    with tempfile.TemporaryDirectory(prefix="gofer-root-") as folder:
        archive = Path(folder) / "root.tar"
        made = subprocess.run([str(SCRIPT), str(archive), mirror], timeout=BOOTSTRAP_SECONDS, check=False)
        if made.returncode != 0:
            raise RootMissing(f"{SCRIPT.name} failed; pull or load an image named {name} yourself and try again")
        client.api.import_image_from_file(str(archive), repository=repository, tag=tag, changes=['CMD ["bash"]'])
    return str(client.images.get(name).id)
