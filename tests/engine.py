"""Fixtures for tests on a real Docker Engine: the client, the images, an instance of the session's own, and the broom.

Imported by ``tests/conftest.py``; a test asks for the fixtures by name and imports from here with
``from tests.engine import ...`` (the project's root is on pytest's path).
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import docker
import pytest
from docker.errors import APIError, DockerException, NotFound

from sandbox.images.build import build, tag
from sandbox.images.options import options_from

# A local engine answers a ping in milliseconds; one that hangs must not hang the suite.
PROBE_SECONDS = 10
# Removing a volume or killing a container under load took seconds here.
CALL_SECONDS = 120


@dataclass(frozen=True)
class Images:
    """IDs of the images that this session uses. ``prefix`` is what ``sandbox.Settings.image_prefix`` must be."""

    prefix: str
    base: str
    claude: str
    codex: str
    opencode: str
    pi: str
    egress: str


@dataclass(frozen=True)
class Leftover:
    """One labelled object on the engine."""

    kind: str
    name: str


def engine_address() -> str:
    return os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"


def why_no_engine() -> str | None:
    """None where an engine answers, else the reason in words. Asks once a process."""
    if "answer" not in _probed:
        _probed["answer"] = _probe()
    return _probed["answer"]


_probed: dict[str, str | None] = {}


def _probe() -> str | None:
    address = engine_address()
    try:
        if address.startswith("unix://"):  # docker's own client leaks the socket that nobody answered
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(PROBE_SECONDS)
                probe.connect(address.removeprefix("unix://"))
        docker.DockerClient(base_url=address, timeout=PROBE_SECONDS).close()  # asks for the version
    except (OSError, DockerException) as error:
        return f"NO DOCKER ENGINE at {address} ({error}); deploy/setup/engine.sh starts one"
    return None


def need_engine() -> None:
    """Skip the running test loudly where no engine answers; in CI that is a failure, never a skip."""
    if (reason := why_no_engine()) is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def engine_host() -> str:
    """The engine's address, for ``sandbox.Settings.docker_host``."""
    need_engine()
    return engine_address()


@pytest.fixture(scope="session")
def docker_client(engine_host: str) -> Iterator[docker.DockerClient]:
    client = docker.DockerClient(base_url=engine_host, timeout=CALL_SECONDS)
    yield client
    client.close()


@pytest.fixture(scope="session")
def images(docker_client: docker.DockerClient) -> Images:
    """The images of this checkout, built where they are not current. Minutes the first time, a second after that."""
    options = options_from(os.environ)
    ids = build(docker_client, options)
    return Images(options.prefix, **ids)


@pytest.fixture(scope="session")
def instance(docker_client: docker.DockerClient) -> Iterator[str]:
    """This session's own instance name. All that is labelled with it is removed at the session's end."""
    name = f"t{secrets.token_hex(4)}"
    yield name
    sweep(docker_client, name)


@pytest.fixture
def nothing_left_behind(docker_client: docker.DockerClient, instance: str) -> Iterator[str]:
    """Yield the instance name; afterwards fail, and remove it, if anything of a sandbox is left on the engine.

    What belongs to the instance and not to one sandbox (its network, its volume of loop images: no label
    ``gofer.sandbox``) may stay until the session ends.
    """
    yield instance
    shared = _of_the_instance(docker_client, instance)
    left = [thing for thing in labelled(docker_client, instance) if thing not in shared]
    left += [Leftover("loop device or image of", name) for name in loop_names(docker_client, instance)]
    if left:
        sweep(docker_client, instance)
        pytest.fail(f"left behind: {', '.join(f'{thing.kind} {thing.name}' for thing in left)}", pytrace=False)


def labelled(client: docker.DockerClient, instance: str, extra: str = "") -> list[Leftover]:
    """Every container, volume and network of the instance, running or not, in the order they can be removed."""
    wanted = {"label": [f"gofer.instance={instance}", *([extra] if extra else [])]}
    containers = client.api.containers(all=True, filters=wanted)
    volumes = client.api.volumes(filters=wanted)["Volumes"] or []
    networks = client.api.networks(filters=wanted)
    return [
        *(Leftover("container", item["Names"][0].lstrip("/")) for item in containers),
        *(Leftover("volume", item["Name"]) for item in volumes),
        *(Leftover("network", item["Name"]) for item in networks),
    ]


def _of_the_instance(client: docker.DockerClient, instance: str) -> list[Leftover]:
    with_sandbox = labelled(client, instance, "gofer.sandbox")
    return [thing for thing in labelled(client, instance) if thing.kind != "container" and thing not in with_sandbox]


def loop_names(client: docker.DockerClient, instance: str) -> list[str]:
    """Names of the sandboxes of which an image file or an attached loop device is left. Asks the store helper."""
    return list(store(client, instance, "list").get("names", []))


def store(client: docker.DockerClient, instance: str, *command: str) -> dict[str, Any]:
    """One command of the store helper, with the rights that it has in earnest; {} where the instance has no images."""
    try:
        volume = str(client.volumes.get(f"gofer-{instance}-images").name)
    except NotFound:
        return {}
    output = client.containers.run(
        tag(options_from(os.environ), "base"), ["python3", "-I", "-m", "sandbox.inside.store", *command],
        user="0:0", network_mode="none", cap_drop=["ALL"], cap_add=["SYS_ADMIN"], remove=True,
        device_cgroup_rules=["b 7:* rmw", "c 10:237 rmw"], volumes=[f"{volume}:/images", "/dev:/dev"],
        labels={"gofer.instance": instance, "gofer.role": "store"},
    )  # fmt: skip
    return dict(json.loads(output))


def sweep(client: docker.DockerClient, instance: str) -> None:
    """Remove all that is labelled with the instance. Safe to repeat; what is already gone is fine.

    Loop devices go after what mounts them and before the volume that holds their files.
    """
    things = labelled(client, instance)
    images = Leftover("volume", f"gofer-{instance}-images")
    _remove(client, [thing for thing in things if thing != images])
    store(client, instance, "deps", "clear")
    for name in loop_names(client, instance):
        store(client, instance, "remove", name)
    _remove(client, [thing for thing in things if thing == images])


def _remove(client: docker.DockerClient, things: list[Leftover]) -> None:
    for thing in things:
        try:
            if thing.kind == "container":
                client.api.remove_container(thing.name, force=True, v=True)
            elif thing.kind == "volume":
                client.api.remove_volume(thing.name, force=True)
            else:
                client.api.remove_network(thing.name)
        except NotFound:
            continue
        except APIError as error:
            # The next object may still go; pytest shows the warning as an error where it matters.
            print(f"could not remove {thing.kind} {thing.name}: {error.explanation}")


def remove_stages(client: docker.DockerClient, word: str) -> None:
    """Remove what a test left in the engine's build cache: stages whose history (build arguments) has ``word``."""
    for stage in client.images.list(filters={"dangling": True}):
        if word in str(stage.history()):
            client.images.remove(str(stage.id))
