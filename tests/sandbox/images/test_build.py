"""What is in the images that were built, seen from outside and from inside."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from sandbox.agents.pi_models import KNOWN
from sandbox.images.build import BuildFailed, build, needed, readable
from sandbox.images.options import fetch_args, options_from, pip_configured
from sandbox.images.plan import RECIPES
from tests.engine import Images, remove_stages

ROOT = Path(__file__).parents[3]
NAMES = list(RECIPES)
NATIVE = ("claude", "codex", "opencode")
# What each agent may add to the base: its files' own size (402, 385, 186 and 68 MB) and a little.
MOST_BYTES = {"claude": 420_000_000, "codex": 400_000_000, "opencode": 200_000_000, "pi": 90_000_000}
# The Debian root has 80 MB, Node and npm 140 MB, git with its Perl 60 MB, Python with pip 50 MB.
BASE_BYTES = 400_000_000

# Walks one file system and prints what a process could gain rights by, or write to as the agent.
FIND_RIGHTS = """
import os, stat
for folder, names, files in os.walk("/"):
    names[:] = [n for n in names if os.path.join(folder, n) not in ("/proc", "/sys", "/dev")]
    for name in files:
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            continue
        if mode & (stat.S_ISUID | stat.S_ISGID) or "security.capability" in os.listxattr(path):
            print("rights", path)
        if mode & stat.S_IWOTH and stat.S_ISREG(mode):
            print("writable", path)
"""


def image(images: Images, name: str) -> str:
    return str(getattr(images, name))


def inside(client: docker.DockerClient, instance: str, image: str, *command: str, user: str = "0:0") -> str:
    """The output of one command in a throw-away container without network."""
    output = client.containers.run(
        image, list(command), user=user, network_mode="none", cap_drop=["ALL"], cap_add=["DAC_READ_SEARCH"],
        read_only=True, labels={"gofer.instance": instance, "gofer.sandbox": "images"}, remove=True,
    )  # fmt: skip
    return output.decode()


@pytest.mark.engine
def test_nothing_is_built_twice(docker_client: docker.DockerClient, images: Images) -> None:
    said: list[str] = []
    assert needed(docker_client, options_from(os.environ), NAMES, said.append, fresh=False) == []
    again = build(docker_client, options_from(os.environ), say=said.append)
    assert again == {name: image(images, name) for name in NAMES}
    assert said == []


@pytest.mark.engine
@pytest.mark.parametrize("name", NAMES)
def test_no_file_in_an_image_gives_rights_or_is_writable_by_all(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, name: str
) -> None:
    assert inside(docker_client, nothing_left_behind, image(images, name), "python3", "-I", "-c", FIND_RIGHTS) == ""


@pytest.mark.engine
def test_s17_egress_and_agent_share_no_layer_but_the_debian_root(
    docker_client: docker.DockerClient, images: Images
) -> None:
    def layers(name: str) -> set[str]:
        return set(docker_client.images.get(name).attrs["RootFS"]["Layers"])

    root = layers(options_from(os.environ).root)
    for name in NAMES:
        if name != "egress":
            assert layers(images.egress) & layers(image(images, name)) == root
            assert layers(images.base) <= layers(image(images, name))


@pytest.mark.engine
@pytest.mark.parametrize("name", NAMES)
def test_no_build_argument_and_no_variable_of_this_machine_is_in_an_image(
    docker_client: docker.DockerClient, images: Images, name: str
) -> None:
    described = json.dumps(
        [
            docker_client.images.get(image(images, name)).history(),
            docker_client.images.get(image(images, name)).attrs["Config"],
        ]
    )
    for value in fetch_args(os.environ, pip_configured()).values():
        assert value not in described
    variables = docker_client.images.get(image(images, name)).attrs["Config"]["Env"] or []
    assert {variable.partition("=")[0] for variable in variables} <= {"PATH", "LANG"}


@pytest.mark.engine
@pytest.mark.parametrize("name", NAMES)
def test_certificates_and_tools_of_the_build_are_not_in_an_image(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, name: str
) -> None:
    look = "ls -d /fetch /npm /build /usr/local/share/ca-certificates/* /opt/gofer/venv/bin/pip* 2>/dev/null; true"
    tools = ("gcc", "sudo", *(("node", "npm", "pip", "curl", "git") if name == "egress" else ()))
    look += "".join(f"; command -v {tool}" for tool in tools) + "; true"
    assert inside(docker_client, nothing_left_behind, image(images, name), "sh", "-c", look) == ""


@pytest.mark.engine
@pytest.mark.parametrize("name", NAMES)
def test_debian_packages_are_recorded_and_the_default_user_is_nobody(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, name: str
) -> None:
    recorded = inside(docker_client, nothing_left_behind, image(images, name), "cat", "/opt/gofer/packages.txt")
    assert re.search(r"^libc6 \S+ \S+$", recorded, re.MULTILINE)
    expected = "65533:65533" if name == "egress" else "65532:65532"
    assert docker_client.images.get(image(images, name)).attrs["Config"]["User"] == expected


@pytest.mark.engine
@pytest.mark.parametrize("name", MOST_BYTES)
def test_an_agents_image_holds_the_pinned_version_and_little_else(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, name: str
) -> None:
    command = ["env", "HOME=/tmp", name, "--version"]
    said = as_agent(docker_client, nothing_left_behind, image(images, name), *command)
    assert pinned(name) in said.split()
    size = {name: int(docker_client.images.get(image(images, name)).attrs["Size"]) for name in ("base", name)}
    assert 0 < size[name] - size["base"] < MOST_BYTES[name]
    assert size["base"] < BASE_BYTES


def pinned(name: str) -> str:
    if name in NATIVE:
        found = re.search(r"^([0-9.]+) amd64", (ROOT / f"images/{name}/pins").read_text(), re.MULTILINE)
        assert found
        return found[1]
    wanted = json.loads((ROOT / f"images/{name}/package.json").read_text())
    return str(*wanted["dependencies"].values())


def as_agent(client: docker.DockerClient, instance: str, image: str, *command: str) -> str:
    """The output of one command as the agent's user, with a /tmp that programs can be unpacked into."""
    output = client.containers.run(
        image, list(command), user="65532:65532", network_mode="none", cap_drop=["ALL"], read_only=True, remove=True,
        tmpfs={"/tmp": "rw,exec,mode=1777"}, labels={"gofer.instance": instance, "gofer.sandbox": "images"},
    )  # fmt: skip
    return output.decode()


@pytest.mark.engine
@pytest.mark.parametrize("provider", KNOWN)
def test_the_models_that_pi_knows_are_those_that_we_take_it_to_know(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, provider: str
) -> None:
    key = f"{provider.upper()}_API_KEY=x"
    command = ["env", "HOME=/tmp", "PI_OFFLINE=1", key, "pi", "--list-models"]
    listed = as_agent(docker_client, nothing_left_behind, images.pi, *command).splitlines()
    rows = [line.split()[:2] for line in listed]
    assert {row[1] for row in rows if row[:1] == [provider]} == KNOWN[provider]


@pytest.mark.engine
def test_codex_has_the_host_of_its_code_mode_beside_it(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str
) -> None:
    look = 'ls "$(dirname "$(command -v codex)")"/codex*'
    said = inside(docker_client, nothing_left_behind, images.codex, "sh", "-c", look)
    assert said.split() == ["/usr/local/bin/codex", "/usr/local/bin/codex-code-mode-host"]


@pytest.mark.engine
def test_an_agent_finds_node_npm_python_and_pip_that_work_without_a_network(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str
) -> None:
    """A project with a test of its own in either language: made, linked and run."""
    work = """
    cd /tmp && export HOME=/tmp/home && mkdir home && git init -q .
    echo '{"name":"x","version":"1.0.0","scripts":{"test":"node --test"}}' >package.json
    npm install --offline --no-audit --no-fund >/dev/null && npm test >/dev/null && npx --no-install node --version
    python -m venv v && v/bin/python -c 'print("venv")' && python -m unittest -q 2>&1 | grep -c 'Ran 0 tests'
    mkdir -p p && printf '[project]
name="p"
version="1"
' >p/pyproject.toml
    pip --version | cut -d' ' -f1
    pip install --no-index nothing-there 2>&1 | grep -c externally-managed
    """
    said = as_agent(docker_client, nothing_left_behind, images.base, "bash", "-c", work + "true")
    lines = said.split()
    assert lines[0].startswith("v24.")
    assert lines[1:] == ["venv", "1", "pip", "0"]


@pytest.mark.engine
def test_the_helpers_scripts_and_the_entry_are_there_and_not_the_agents_to_change(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str
) -> None:
    look = "import sandbox.inside, os, sys; s = os.stat('/opt/gofer/entry'); print(oct(s.st_mode), s.st_uid, s.st_gid)"
    assert (
        inside(docker_client, nothing_left_behind, images.base, "python3", "-I", "-c", look, user="65532:65532")
        == "0o100555 0 0\n"
    )
    tools = "for t in bash git rg socat mkfs.ext4 losetup curl; do command -v $t >/dev/null || echo $t; done"
    assert inside(docker_client, nothing_left_behind, images.base, "bash", "-c", tools) == ""


@pytest.mark.engine
def test_d01_the_egress_image_runs_a_proxy_stack_above_the_floor(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str
) -> None:
    ask = (
        "import sys, json, h2, h11; from mitmproxy.version import VERSION;"
        "print(json.dumps([list(sys.version_info[:2]), VERSION, h2.__version__, h11.__version__]))"
    )
    python = "/opt/gofer/venv/bin/python"
    answer = json.loads(
        inside(docker_client, nothing_left_behind, images.egress, python, "-I", "-c", ask, user="65533:65533")
    )
    assert answer[0] >= [3, 12]
    assert [int(part) for part in answer[1].split(".")] >= [12, 2, 3]


@pytest.mark.engine
def test_a_failed_build_says_why_and_leaves_the_old_image(docker_client: docker.DockerClient, images: Images) -> None:
    given = options_from(os.environ)
    refused = replace(given, prefix="gofer-refused", args=lambda: given.args() | {"NPM_REGISTRY": "http://127.0.0.1:1"})
    with pytest.raises(BuildFailed, match=r"claude:[\s\S]*127\.0\.0\.1"):
        build(docker_client, refused, ["claude"], say=lambda words: None)
    docker_client.images.remove("gofer-refused/base:latest")
    remove_stages(docker_client, "http://127.0.0.1:1")
    assert docker_client.images.get(f"{images.prefix}/claude:latest").id == images.claude


@pytest.mark.engine
@pytest.mark.slow
def test_a_failed_build_names_the_page_that_helps(docker_client: docker.DockerClient) -> None:
    nowhere = "http://127.0.0.1:2"
    given = {**os.environ, "GOFER_IMAGE_PREFIX": "gofer-helped", "npm_config_registry": nowhere}
    command = [sys.executable, "-m", "sandbox.images", "build", "claude"]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=600)
    docker_client.images.remove("gofer-helped/base:latest")
    remove_stages(docker_client, nowhere)
    assert done.returncode == 1
    assert "GOFER_BUILD_CA" in done.stderr
    assert "deploy/images.md" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_end_of_a_builds_output_is_readable() -> None:
    assert readable("Step 1\n\n\x1b[91mno\x1b[0m such\r\n") == "Step 1\nno such"
