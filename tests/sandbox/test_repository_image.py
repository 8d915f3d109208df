"""An operator's own image for a repository: only one that stands on ours, and what is in it is there for the agent."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from sandbox import GitHost, Limits, PrepareFailed, Reason, Settings, Source
from sandbox.engine import Image
from sandbox.engines.docker import DockerEngine
from sandbox.images.options import options_from
from sandbox.repository_image import named, unfit
from tests.attacks.githost_tls import PrivateHost, private_host
from tests.engine import Images
from tests.local_sandbox import LocalSandbox, bridge_address, local_sandbox, settings_for
from tests.scripted import ASK, SAY_DONE, agents

OURS = Image("sha256:1", ("a", "b"), ("LANG=C.UTF-8", "PATH=/usr/bin"))
THEIRS = replace(OURS, id="sha256:2", layers=("a", "b", "c"))
SMALL = Limits(wall_seconds=60, memory_bytes=256 * 2**20, workspace_bytes=64 * 2**20, workspace_inodes=4_000)


def settings(**images: str) -> Settings:
    return Settings(state_dir=Path("/nowhere"), repository_images={"octo/tools": "acme/{agent}-tools:3"} | images)


def test_an_image_is_named_by_repository_and_agent_and_nobody_elses() -> None:
    assert named(settings(), "pi", "octo/tools") == "acme/pi-tools:3"
    assert named(settings(), "claude", "Octo/Tools") == "acme/claude-tools:3"
    assert named(settings(), "claude", "octo/other") is None
    assert named(settings(), "claude", None) is None


@pytest.mark.parametrize("found", [THEIRS, replace(THEIRS, layers=OURS.layers)], ids=["more layers", "labels only"])
def test_what_stands_on_ours_is_fit(found: Image) -> None:
    assert unfit(found, OURS, "gofer/pi") == ""


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "the operator must build it"),
        (replace(THEIRS, layers=()), "does not stand on the present gofer/pi"),
        (replace(THEIRS, layers=("a",)), "does not stand on the present gofer/pi"),
        (replace(THEIRS, layers=("a", "old", "c")), "must build it again FROM gofer/pi"),
        (replace(THEIRS, layers=("c", "a", "b")), "does not stand on the present gofer/pi"),
        (replace(THEIRS, environment=(*OURS.environment, "LD_PRELOAD=/x")), "sets variables (LD_PRELOAD)"),
        (replace(THEIRS, environment=("LANG=C.UTF-8", "PATH=/opt/x:/usr/bin")), "sets variables (PATH)"),
        (replace(THEIRS, volumes=("/data",)), "declares volumes (/data)"),
        (replace(THEIRS, healthcheck=True), "declares a health check"),
    ],
)
def test_what_is_not_is_refused_with_what_to_do(found: Image | None, words: str) -> None:
    assert words in unfit(found, OURS, "gofer/pi")


@pytest.fixture
def tag(docker_client: docker.DockerClient) -> Iterator[str]:
    """A name for an image of this test, removed afterwards."""
    name = f"gofer-test-{secrets.token_hex(4)}"
    yield f"{name}-{{agent}}:1"
    for image in docker_client.images.list(name=f"{name}-claude"):
        docker_client.images.remove(str(image.id), force=True)


def build(client: docker.DockerClient, tag: str, dockerfile: str) -> None:
    client.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=tag.replace("{agent}", "claude"), rm=True)


@pytest.fixture
def host(docker_client: docker.DockerClient, tmp_path: Path) -> Iterator[PrivateHost]:
    with private_host(bridge_address(docker_client), "host.docker.internal", tmp_path) as made:
        made.github.add_repository("octo", "tools", {"Dockerfile": b"FROM debian:trixie-slim\nUSER 0\n"})
        yield made


@pytest.fixture
async def world(
    docker_client: docker.DockerClient,
    images: Images,
    engine_host: str,
    nothing_left_behind: str,
    host: PrivateHost,
    tag: str,
    tmp_path: Path,
) -> AsyncIterator[LocalSandbox]:
    """A service whose agent runs the project's own tool, with an image set for the repository."""
    made = settings_for(engine_host, images.prefix, nothing_left_behind, tmp_path / "state").model_copy(
        update={
            "git_host": GitHost(base_url=host.url, private=True, ca_pem=host.ca_pem),
            "repository_images": {"octo/tools": tag},
            "mirror": False,
        }
    )
    script = f"cat >/dev/null; {ASK} || exit 9; (id -u; project-tool) >made.txt 2>&1; {SAY_DONE}"
    async with local_sandbox(docker_client, made, agents=agents(script)) as opened:
        yield opened


TOOL = (
    "RUN printf '#!/bin/sh\\necho the tool of the project' >/usr/local/bin/project-tool && chmod 755 /usr/local/bin/*"
)


@pytest.mark.engine
async def test_an_agent_finds_the_tools_of_its_project(
    docker_client: docker.DockerClient, images: Images, host: PrivateHost, world: LocalSandbox, tag: str
) -> None:
    build(docker_client, tag, f"FROM {images.prefix}/base:latest\nUSER 0\n{TOOL}\n")
    outcome = await world.run("work", Source(url=f"{host.url}/octo/tools"), SMALL)
    assert outcome.reason is Reason.OK, outcome
    assert outcome.changes is not None
    patch = (outcome.changes.patch or b"").decode()
    assert "+the tool of the project" in patch
    assert "+65532" in patch  # whatever USER the image names


@pytest.mark.engine
@pytest.mark.parametrize(
    ("dockerfile", "words"),
    [
        (None, "is not there"),
        ("FROM debian:trixie-slim\nLABEL a=b\n", "does not stand on the present"),
        ("FROM {prefix}/base:latest\nVOLUME /data\n", "declares volumes"),
        pytest.param("FROM {prefix}/base:latest\nENV LD_PRELOAD=/x.so\n", "LD_PRELOAD", marks=pytest.mark.slow),
        pytest.param("FROM {prefix}/base:latest\nHEALTHCHECK CMD true\n", "a health check", marks=pytest.mark.slow),
    ],
)
async def test_an_image_that_is_not_fit_ends_the_task_before_anything_is_made(
    docker_client: docker.DockerClient,
    images: Images,
    host: PrivateHost,
    world: LocalSandbox,
    tag: str,
    dockerfile: str | None,
    words: str,
) -> None:
    if dockerfile is not None:
        build(docker_client, tag, dockerfile.replace("{prefix}", images.prefix))
    with pytest.raises(PrepareFailed, match=words) as failed:
        await world.run("work", Source(url=f"{host.url}/octo/tools"), SMALL)
    assert failed.value.reason is Reason.AGENT_ERROR
    assert tag.replace("{agent}", "claude") in str(failed.value)
    assert host.asked_for() == set()


@pytest.mark.engine
@pytest.mark.slow
async def test_the_dockerfile_of_the_page_makes_an_image_that_is_fit(
    docker_client: docker.DockerClient, images: Images, engine_host: str, tag: str
) -> None:
    page = (Path(__file__).parents[2] / "deploy/images.md").read_text()
    given = options_from(os.environ)
    docker_client.images.build(
        fileobj=io.BytesIO(page.partition("```dockerfile\n")[2].partition("```")[0].encode()),
        tag=(name := tag.replace("{agent}", "claude")),
        buildargs={"BASE": f"{images.prefix}/claude:latest", **given.args()},
        rm=True,
    )
    engine = await DockerEngine.open(engine_host)
    try:
        found, ours = await engine.look_at_image(name), await engine.look_at_image(images.claude)
    finally:
        await engine.close()
    assert ours is not None
    assert unfit(found, ours, "gofer/claude") == ""


@pytest.mark.engine
async def test_an_image_of_ours_is_what_the_engine_says_of_it(engine_host: str, images: Images) -> None:
    engine = await DockerEngine.open(engine_host)
    try:
        base, pi = await engine.look_at_image(images.base), await engine.look_at_image(f"{images.prefix}/pi:latest")
        assert await engine.look_at_image("gofer/never-built:latest") is None
    finally:
        await engine.close()
    assert base is not None
    assert pi is not None
    assert (base.id, pi.id) == (images.base, images.pi)
    assert pi.layers[: len(base.layers)] == base.layers
    assert len(pi.layers) == len(base.layers) + 1, "one layer an agent"
    assert {variable.partition("=")[0] for variable in pi.environment} == {"PATH", "LANG"}
    assert (pi.volumes, pi.healthcheck) == ((), False)
    assert unfit(pi, base, "gofer/base") == ""
