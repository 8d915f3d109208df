"""Group S from the inside: what an agent that wants out finds in its sandbox. One probe, many assertions."""

from __future__ import annotations

import asyncio
import json
import platform
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import pytest
from pydantic import SecretStr

from bot.demo.model import ScriptedModel
from sandbox import Gateway, Handle, Job, Limits, Phase, Secrets, Settings
from sandbox.agents import Agent
from sandbox.engines import plan
from sandbox.engines.hardening import Ground
from sandbox.engines.names import Names
from sandbox.service import open_local
from tests.attacks.probe import CALLS, X86_CALLS
from tests.engine import Images
from tests.local_sandbox import bridge_address, bundle, settings_for
from tests.scripted import Scripted

pytestmark = pytest.mark.engine

PROBE = (Path(__file__).parent / "probe.py").read_text()
X86 = platform.machine() == "x86_64"
KEY, TOKEN = f"key-{secrets.token_hex(20)}", f"token-{secrets.token_hex(20)}"
MIB = 2**20
LIMITS = Limits(memory_bytes=1024 * MIB, workspace_bytes=64 * MIB, workspace_inodes=2_000, wall_seconds=120)


@contextmanager
def listening() -> Iterator[int]:
    """A service of the host on every address it has."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        yield server.getsockname()[1]


def host_addresses() -> list[str]:
    shown = subprocess.run(["ip", "-json", "-4", "addr"], capture_output=True, text=True, check=True).stdout
    return [entry["local"] for link in json.loads(shown) for entry in link["addr_info"]]


@pytest.fixture(scope="module")
def found(
    docker_client: docker.DockerClient,
    images: Images,
    engine_host: str,
    instance: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    """What the probe told, and beside it what the engine shows of every container of that sandbox."""
    folder = tmp_path_factory.mktemp("inside")
    settings = settings_for(engine_host, images.prefix, instance, folder / "state")
    with listening() as port:
        return asyncio.run(probed(docker_client, settings, folder, port))


async def probed(client: docker.DockerClient, settings: Settings, folder: Path, port: int) -> dict[str, Any]:
    model = ScriptedModel()
    await model.start(bridge_address(client))
    gateway = Gateway(
        base_url=f"http://host.docker.internal:{model.port}", key=SecretStr(KEY), private=True, host_gateway=True
    )
    registry: dict[str, Agent] = {"claude": Scripted(argv=["/usr/bin/python3", "-c", PROBE])}
    service = await open_local(settings.model_copy(update={"gateway": gateway}), agents=registry)
    name = f"inside-{secrets.token_hex(3)}"
    targets = [(address, port) for address in host_addresses()]
    assert all(reachable(*target) for target in targets), "the host must reach its own service, or this proves nothing"
    targets += [("169.254.169.254", 80), ("8.8.8.8", 53), ("1.1.1.1", 443), ("172.17.0.1", 22)]
    asked = {"addresses": targets, "calls": CALLS | (X86_CALLS if X86 else {}), "x86": X86}
    source = bundle(folder, {"a.txt": b"one\n", "Dockerfile": b"FROM scratch\nRUN touch /marker\n"})
    job = Job(name=name, prompt=json.dumps(asked), source=source, limits=LIMITS)
    try:
        handle = await service.prepare(job, Secrets(fetch_token=SecretStr(TOKEN)))
        await service.start(handle)
        while (await service.wait(handle, 30)).phase is Phase.RUNNING:
            pass
        agent = f"gofer-{settings.instance}-{name}-agent"
        said = client.api.logs(agent, stdout=True, stderr=False)
        assert said, client.api.logs(agent)
        containers = {c["Names"][0]: c["Id"] for c in of(client, settings.instance, name)}
        return {
            **json.loads(said),
            "targets": [f"{address}:{port}" for address, port in targets],
            "inspect": {name: client.api.inspect_container(id_) for name, id_ in containers.items()},
            "logs": {name: client.api.logs(id_).decode(errors="replace") for name, id_ in containers.items()},
            "state": [path.read_text(errors="replace") for path in (folder / "state").rglob("*") if path.is_file()],
        }
    finally:
        await service.remove(Handle(name=name))
        await service.close()
        await model.stop()


def of(client: docker.DockerClient, instance: str, name: str) -> list[dict[str, Any]]:
    wanted = [f"gofer.instance={instance}", f"gofer.sandbox={name}"]
    listed: list[dict[str, Any]] = client.api.containers(all=True, filters={"label": wanted})
    return listed


def reachable(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=5).close()
    except OSError:
        return False
    return True


def test_there_is_no_interface_but_lo_and_no_route(found: dict[str, Any]) -> None:
    # a kernel with tunnel modules shows their idle devices in every new namespace
    assert [name for name in found["interfaces"] if name not in {"tunl0", "sit0", "ip6tnl0", "gre0"}] == ["lo"]
    assert found["routes"] == []


def test_s02_no_address_of_the_host_or_beyond_answers(found: dict[str, Any]) -> None:
    loopback = {target for target in found["targets"] if target.startswith("127.")}
    assert {found["tcp"][target] for target in loopback} == {"ECONNREFUSED"}  # its own, where nobody listens
    assert {found["tcp"][target] for target in set(found["targets"]) - loopback} == {"ENETUNREACH"}


def test_e04_e07_no_dns_and_no_udp_answers(found: dict[str, Any]) -> None:
    assert set(found["dns"].values()) == {"gaierror"}
    assert not {"ANSWERED"} & set(found["udp"].values())
    assert found["resolver"].split() == ["search", ".", "nameserver", "127.0.0.1"] or "127.0.0.1" in found["resolver"]
    assert "host.docker.internal" not in found["hosts"]


def test_a_refused_host_is_refused_in_words(found: dict[str, Any]) -> None:
    assert found["refused"].split()[-1] == "403"
    assert "example.com is not reachable from this sandbox" in found["refused"]
    assert found["metadata"].split()[-1] == "403"


def test_s01_nothing_of_the_host_is_mounted(found: dict[str, Any]) -> None:
    ours = {"/ws", "/inputs", "/sock", "/tmp", "/home/agent", "/run"}
    made_by_engines = {"/", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts", "/usr/sbin/docker-init"}
    rest = {m for m in found["mounts"] if not m.startswith(("/proc", "/sys", "/dev"))} - made_by_engines
    assert rest == ours
    assert found["engine sockets"] == []
    assert sorted(path for path in found["sockets"] if path.startswith("/sock")) == [
        "/sock/ca.pem",
        "/sock/general.sock",
        "/sock/model.sock",
    ]
    assert [
        device for device in found["devices"] if device.startswith(("loop", "sd", "vd", "kvm", "mem", "kmsg"))
    ] == []


def test_s05_no_capability_no_new_privileges_no_root(found: dict[str, Any]) -> None:
    status = found["status"]
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Uid"].split() == ["65532"] * 4
    assert status["Gid"].split() == ["65532"] * 4
    assert status["Groups"].strip() in {"", "65532"}


def test_s07_socket_families_that_sandboxes_were_left_by(found: dict[str, Any]) -> None:
    families = found["families"]
    assert families.pop("AF_INET6") == "EAFNOSUPPORT"
    assert set(families.values()) == {"EPERM"}


def test_s07_calls_that_sandboxes_were_left_by(found: dict[str, Any]) -> None:
    assert set(found["calls"].values()) <= {"EPERM", "ENOSYS"}, found["calls"]


def test_s07_no_32_bit_call_gets_through(found: dict[str, Any]) -> None:
    assert found["int 0x80"] in {"SIGSYS", "SIGSEGV", "REFUSED"}


def test_only_the_workspace_and_its_tmpfs_can_be_written(found: dict[str, Any]) -> None:
    assert "WRITTEN" not in found["writes"].values(), found["writes"]


def test_s11_every_place_that_can_be_written_is_capped(found: dict[str, Any]) -> None:
    caps = {"/tmp": 512, "/run": 8, "/dev/shm": 64, "/home/agent": 256, "/ws/repo": 64}
    for folder, told in found["fill"].items():
        assert told["ended"] == "ENOSPC", folder
        assert told["written"] <= caps[folder] * MIB, folder
        assert told["size"] <= caps[folder] * MIB, folder


def test_s16_the_kernel_shows_nothing_of_others(found: dict[str, Any]) -> None:
    assert all(line.split(":", 2)[2] == "/" for line in found["cgroup"]), found["cgroup"]
    assert all(text in {"", "<EACCES>", "<ENOENT>"} for text in found["kernel"].values()), found["kernel"]
    assert found["sysrq"] != "WRITTEN"


def test_c01_no_secret_is_anywhere_inside(found: dict[str, Any]) -> None:
    """Environment and command line of every process, and every file that the sandbox brought along."""
    assert found["environ"]
    assert found["files"]
    inside = json.dumps({key: value for key, value in found.items() if key not in {"inspect", "logs", "state"}})
    for canary in (KEY, TOKEN):
        assert canary not in inside


def test_c01_c14_no_secret_is_in_what_the_engine_and_our_files_keep(found: dict[str, Any]) -> None:
    assert any(name.endswith("-egress") for name in found["inspect"])
    kept = json.dumps([found["inspect"], found["logs"], found["state"]])
    for canary in (KEY, TOKEN):
        assert canary not in kept


def test_s19_nothing_of_the_repository_ran_on_the_host(
    found: dict[str, Any], docker_client: docker.DockerClient
) -> None:
    """Its Dockerfile is a file like any other; every container of the sandbox is of one of our images."""
    assert not Path("/marker").exists()
    labels = [c["Config"]["Labels"].get("gofer.inputs") for c in found["inspect"].values()]
    assert labels
    assert all(labels)


def test_s05_a_set_user_id_shell_gives_nothing(
    docker_client: docker.DockerClient, images: Images, engine_host: str, instance: str
) -> None:
    profile = (Path(__file__).parents[2] / "sandbox" / "engines" / "seccomp.json").read_text()
    build = docker_client.api.create_container(
        images.base,
        ["sh", "-c", "cp /bin/bash /rootsh && chmod 4755 /rootsh"],
        user="0",
        labels={"gofer.instance": instance},
    )
    docker_client.api.start(build)
    docker_client.api.wait(build)
    image = docker_client.api.commit(build)["Id"]
    docker_client.api.remove_container(build)
    filled = plan.agent(Names(instance, "suid"), Ground(profile), image, [], {}, LIMITS)
    settings = {
        **filled.settings,
        "Entrypoint": ["/rootsh", "-p", "-c"],
        "Cmd": ["id -u; stat -c %a /rootsh"],
        "WorkingDir": "/",
    }
    settings["HostConfig"] = {**settings["HostConfig"], "Mounts": []}
    api: Any = docker_client.api
    made = api.create_container_from_config(settings, filled.name)
    try:
        docker_client.api.start(made)
        docker_client.api.wait(made)
        assert docker_client.api.logs(made) == b"65532\n4755\n"
    finally:
        docker_client.api.remove_container(made, force=True, v=True)
        docker_client.api.remove_image(image, force=True)
