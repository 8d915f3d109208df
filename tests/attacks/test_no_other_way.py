"""Groups E02, E04, E05 and E07, judged where things would arrive: on the wire of the egress, at the host, at the model.

A send that succeeds proves nothing, and neither does one that fails: the ears are in the egress's own network
namespace and on every address of the host, and both are shown to hear.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

from bot.demo.model import ScriptedModel
from sandbox import Handle, Job, Limits, Phase, Secrets
from sandbox.agents import Agent
from tests.attacks.test_sandbox_inside import host_addresses
from tests.engine import Images
from tests.local_sandbox import LocalSandbox, bridge_address, bundle, local_sandbox, settings_for
from tests.scripted import Scripted

pytestmark = pytest.mark.engine

HERE = Path(__file__).parent
LEAKER, SNIFFER = (HERE / "leaker.py").read_text(), (HERE / "sniffer.py").read_text()
BODY = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]})
# Words of one letter and digits, so that each is a DNS label and stands in a packet as it is written.
CANARY, CONTROL = (f"{word}{secrets.token_hex(8)}" for word in ("canary", "control"))
BEYOND = ["8.8.8.8", "1.1.1.1", "169.254.169.254", "224.0.0.251", "255.255.255.255"]
LIMITS = Limits(memory_bytes=512 * 2**20, workspace_bytes=32 * 2**20, workspace_inodes=2_000, wall_seconds=120)
HEARD_SECONDS = 30.0


class Sink:
    """A UDP socket on every address of the host; what came to it is in ``heard``."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("0.0.0.0", 0))
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    def heard(self) -> list[bytes]:
        found = []
        while True:
            try:
                found.append(self._socket.recv(65536))
            except BlockingIOError:
                return found

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def found(
    docker_client: docker.DockerClient,
    images: Images,
    engine_host: str,
    instance: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    """One agent that tries everything; what it told, and what was heard outside."""
    folder = tmp_path_factory.mktemp("ways")
    return asyncio.run(tried(docker_client, images, engine_host, instance, folder))


async def tried(client: docker.DockerClient, images: Images, host: str, instance: str, folder: Path) -> dict[str, Any]:
    settings = settings_for(host, images.prefix, instance, folder / "state")
    registry: dict[str, Agent] = {"claude": Scripted(argv=["/usr/bin/python3", "-c", LEAKER])}
    sink = Sink()
    async with local_sandbox(client, settings, agents=registry) as local:
        job = Job(
            name=f"ways-{secrets.token_hex(3)}",
            prompt=json.dumps(asked(client, local.model, sink)),
            source=bundle(folder, {"a.txt": b"one\n"}),
            limits=LIMITS,
        )
        try:
            handle = await local.sandbox.prepare(job, Secrets())
            names = f"gofer-{instance}-{job.name}"
            egress = client.containers.get(f"{names}-egress")
            with listening(client, images, instance, egress) as ear:
                controls = send_controls(client, egress, sink)
                until_heard(ear, CONTROL)
                at_host = sink.heard()
                await ended(local, handle)
                return {
                    **json.loads(client.api.logs(f"{names}-agent", stdout=True, stderr=False)),
                    "controls": controls,
                    "control at host": at_host,
                    "at host": sink.heard(),
                    "wire": ear.logs().decode().split(),
                    "model": [(seen.path, seen.headers) for seen in local.model.seen],
                }
        finally:
            await local.sandbox.remove(Handle(name=job.name))
            sink.close()


def asked(client: docker.DockerClient, model: ScriptedModel, sink: Sink) -> dict[str, Any]:
    return {
        "canary": CANARY,
        "hosts": [*host_addresses(), *BEYOND],
        "port": sink.port,
        "model": f"{bridge_address(client)}:{model.port}",
        "name": f"host.docker.internal:{model.port}",
        "body": BODY,
    }


@contextmanager
def listening(client: docker.DockerClient, images: Images, instance: str, egress: Container) -> Iterator[Container]:
    """An ear in the egress's network namespace."""
    ear = client.containers.create(
        images.base,
        ["/usr/bin/python3", "-I", "-c", SNIFFER, CANARY, CONTROL],
        network_mode=f"container:{egress.id}",
        user="0:0",
        cap_drop=["ALL"],
        cap_add=["NET_RAW"],
        labels={"gofer.instance": instance},
    )
    try:
        ear.start()
        until_heard(ear, "listening")
        yield ear
    finally:
        ear.remove(force=True)


def until_heard(ear: Container, word: str) -> None:
    deadline = time.monotonic() + HEARD_SECONDS
    while word not in ear.logs().decode():
        assert time.monotonic() < deadline, f"{word} was not heard: {ear.logs()!r}"


def send_controls(client: docker.DockerClient, egress: Container, sink: Sink) -> int:
    """From the egress, which has a network: a datagram to the host, and a question to the engine's name server."""
    script = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        f"s.sendto(b'{CONTROL}', ('{bridge_address(client)}', {sink.port})); "
        f"s.sendto(b'{CONTROL}', ('127.0.0.11', 53))"
    )
    code = egress.exec_run(["/opt/gofer/venv/bin/python", "-I", "-c", script]).exit_code
    return -1 if code is None else code


async def ended(local: LocalSandbox, handle: Handle) -> None:
    await local.sandbox.start(handle)
    while (await local.sandbox.wait(handle, 30)).phase is Phase.RUNNING:
        pass


def test_control_the_ears_hear_a_datagram_and_a_question_for_a_name(found: dict[str, Any]) -> None:
    assert found["controls"] == 0
    assert found["control at host"] == [CONTROL.encode()]
    wire = found["wire"]
    interfaces = {interface for word, interface in pairwise(wire) if word == CONTROL}
    assert interfaces == {"lo", "eth0"}, "the question for a name goes over the first"


def test_e02_who_ignores_the_proxy_reaches_not_even_what_is_allowed(found: dict[str, Any]) -> None:
    """By five ways; beside them the one way that there is, which works."""
    assert 0 not in found["commands"].values(), found["commands"]
    assert found["host header"] == 0
    assert [path for path, _ in found["model"]] == ["/v1/messages"]


def test_e04_no_datagram_arrives_anywhere(found: dict[str, Any]) -> None:
    """QUIC, NTP, DNS over it, multicast, broadcast: not at the host, and not on the wire of the egress."""
    assert len(found["udp"]) > 30
    assert found["at host"] == []
    assert CANARY not in found["wire"]


def test_e05_no_echo_request_gets_further_than_its_own_loopback(found: dict[str, Any]) -> None:
    beyond = [told for host, told in found["icmp"].items() if not host.startswith("127.")]
    assert beyond
    assert "SENT" not in " ".join(beyond)
    assert CANARY not in found["wire"]


def test_e07_a_name_that_the_agent_asks_for_is_never_looked_up(found: dict[str, Any]) -> None:
    """By itself, or by having the egress do it: in no packet that leaves, not even to the engine's own name server."""
    assert found["resolve"] == "gaierror"
    assert found["interfaces"] == ["lo"], "what the agent's own name server is asked goes nowhere"
    assert len(found["commands"]) == 10
    assert CANARY not in found["wire"]


def test_e07_e13_a_name_in_a_header_does_not_leave_either(found: dict[str, Any]) -> None:
    [(_, headers)] = found["model"]
    assert CANARY not in json.dumps(headers)
