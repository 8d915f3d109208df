"""A real egress container, a client container beside it with no network, and stand-in upstreams that log what arrives.

The upstreams listen on the gateway address of a bridge network that the test made, so the egress reaches them and
nothing else does. What is judged is the upstream's log: what a client was told proves nothing about what left.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import ipaddress
import json
import secrets
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from docker.models.containers import Container
from docker.types import Mount

from sandbox.egress.report import Report, read
from tests.sandbox.egress.policies import MODEL, line

MODEL_KEY = "sk-ant-CANARY-model-0123456789abcdef"
FETCH_TOKEN = "ghs_CANARYfetch0123456789abcdef"
REPOSITORY = "Octo/hello.world"
PLACEHOLDER = "placeholder-from-the-sandbox"

LAUNCH = ["/opt/gofer/venv/bin/python", "-I", "-m", "sandbox.egress.launch"]
PYTHON = ["/opt/gofer/venv/bin/python", "-I", "-c"]
# A start takes about a second; the machine may be busy with other containers.
READY_SECONDS = 60
# One client answers in milliseconds; a refusal that hangs must fail the test, not the suite.
CLIENT_SECONDS = 60


def inside(client: docker.DockerClient, image: str, script: str) -> Any:
    """What a script prints as JSON in the egress image, with no network: for what needs mitmproxy and no traffic."""
    return json.loads(client.containers.run(image, [*PYTHON, script], network_mode="none", remove=True))


# -- upstreams


@dataclass
class Arrived:
    """One request as an independent, strict reader of HTTP/1.1 saw it."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


Answering = Callable[[Arrived, Callable[[bytes], None]], None]


def ok_json(request: Arrived, send: Callable[[bytes], None]) -> None:
    send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")


class StandIn:
    """An upstream: logs requests and connections, answers by script. ``raw`` is every byte that came."""

    def __init__(self, address: str, answering: Answering = ok_json, tls: ssl.SSLContext | None = None) -> None:
        self.answering = answering
        self.requests: list[Arrived] = []
        self.connections = 0
        self.raw = bytearray()
        self._open = 0
        self._changed = threading.Condition()
        stand_in = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                stand_in.counted(+1)
                with contextlib.suppress(OSError, ValueError):
                    if tls is not None:
                        self.request = tls.wrap_socket(self.request, server_side=True)
                        self.rfile = self.request.makefile("rb")
                    while (request := stand_in.read(self.rfile)) is not None:
                        stand_in.requests.append(request)
                        stand_in.answering(request, self.request.sendall)

            def finish(self) -> None:
                with contextlib.suppress(OSError):
                    super().finish()
                self.request.close()
                stand_in.counted(-1)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server((address, 0), Handler)
        self.port = self._server.server_address[1]
        self.host = address
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def read(self, stream: Any) -> Arrived | None:
        head = []
        while True:
            line = stream.readline(65536)
            self.raw += line
            if not line:
                return None
            if line == b"\r\n":
                break
            head.append(line.decode("latin-1").rstrip("\r\n"))
        headers = [(name, value.strip()) for name, _, value in (entry.partition(":") for entry in head[1:])]
        request = Arrived(head[0], headers, b"")
        request.body = self._body(stream, request)
        return request

    def _body(self, stream: Any, request: Arrived) -> bytes:
        body = bytearray()
        if request.header("transfer-encoding") == ["chunked"]:
            while (size := int(stream.readline(), 16)) > 0:
                body += stream.read(size)
                stream.readline()
            stream.readline()
        elif length := request.header("content-length"):
            assert len(length) == 1, "two lengths are smuggling"
            while len(body) < int(length[0]):
                piece = stream.read(min(65536, int(length[0]) - len(body)))
                self.raw += piece
                if not piece:
                    raise ValueError("cut")
                body += piece
        return bytes(body)

    def counted(self, step: int) -> None:
        with self._changed:
            self._open += step
            self.connections += step > 0
            self._changed.notify_all()

    def settle(self) -> None:
        """Until every connection that was made has ended, so that what arrives late is seen too."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._open == 0, READY_SECONDS), "a connection that does not end"

    def forget(self) -> None:
        self.requests.clear()
        self.raw.clear()
        self.connections = 0

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def stream(*events: bytes, pause: Callable[[int], None] = lambda number: None) -> Answering:
    """Answer with a chunked event stream; ``pause(n)`` runs before event n."""

    def answering(request: Arrived, send: Callable[[bytes], None]) -> None:
        send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n")
        for number, event in enumerate(events):
            pause(number)
            send(b"%x\r\n%s\r\n" % (len(event), event))
        send(b"0\r\n\r\n")

    return answering


STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


# -- certificates


class Authority:
    """A certificate authority of the test's own."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self._cert = self._make(self._name, self._key, self._name, None)
        self.pem = self._cert.public_bytes(serialization.Encoding.PEM).decode()

    def _make(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, issuer: x509.Name, name: str | None, days: int = 2
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=10))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=name is None, path_length=None), critical=True)
        )
        if name is not None:
            try:
                general: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
            except ValueError:
                general = x509.DNSName(name)
            builder = builder.add_extension(x509.SubjectAlternativeName([general]), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def server(self, name: str, folder: Path, *, days: int = 2) -> ssl.SSLContext:
        """A TLS server context with a certificate for ``name``; ``days`` below zero has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leaf")])
        cert = self._make(subject, key, self._name, name, days)
        path = folder / f"{secrets.token_hex(4)}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + cert.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


# -- the client

# Runs in a container without any network. Takes a list of exchanges, as Exchange.spoken makes them; prints a list of
# what came of each, as _got reads it.
_CLIENT = r"""
import base64, json, re, socket, sys
def whole(got):
    head, blank, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return bool(blank and length and len(body) >= int(length[1]))
def run(it):
    got, pieces, error, then = b"", [], "", None
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(it["seconds"])
    try:
        s.connect("/sock/" + it["to"])
        try:
            for part in it["send"]:
                if isinstance(part, dict):
                    left = part["zeros"]
                    while left > 0:
                        s.sendall(bytes([part["of"]]) * min(left, 65536))
                        left -= 65536
                else:
                    s.sendall(base64.b64decode(part))
        except OSError as e:
            error = "send: " + type(e).__name__
        stop = base64.b64decode(it.get("until") or "")
        while not (stop and stop in got):
            if not stop and whole(got):
                break
            piece = s.recv(65536)
            if not piece:
                break
            got += piece
            pieces.append(len(piece))
            if it.get("then") and base64.b64decode(it["then_when"]) in got:
                then, it["then"] = run(it["then"]), None
    except OSError as e:
        error = error or type(e).__name__
    s.close()
    return {"got": base64.b64encode(got).decode(), "pieces": pieces, "error": error, "then": then}
print(json.dumps([run(it) for it in json.loads(base64.b64decode(sys.argv[1]))]))
"""


@dataclass
class Exchange:
    """Bytes for one of the sockets; ``until`` ends the reading early (a kept-alive connection has no end)."""

    send: bytes
    to: str = "agent/model.sock"
    zeros: int = 0
    """So many bytes of zero (or ``of``) after it, and ``last`` after those."""
    of: int = 0
    last: bytes = b""
    until: bytes = b""
    then: Exchange | None = None
    """Made on a connection of its own as soon as ``then_when`` has come."""
    then_when: bytes = b""
    seconds: float = 20
    """For each step; only a way out that is frozen needs them."""

    def spoken(self) -> dict[str, Any]:
        parts: list[Any] = [base64.b64encode(self.send).decode()]
        if self.zeros:
            parts += [{"zeros": self.zeros, "of": self.of}, base64.b64encode(self.last).decode()]
        return {
            "to": self.to,
            "send": parts,
            "until": base64.b64encode(self.until).decode(),
            "then": self.then.spoken() if self.then else None,
            "seconds": self.seconds,
            "then_when": base64.b64encode(self.then_when).decode(),
        }


@dataclass
class Got:
    data: bytes
    pieces: list[int]
    error: str
    then: Got | None = None

    @property
    def status(self) -> int:
        """0 where nothing came that is HTTP."""
        words = self.data.split(b"\r\n", 1)[0].split(b" ")
        return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit() else 0

    @property
    def text(self) -> str:
        return self.data.partition(b"\r\n\r\n")[2].decode("latin-1")


def _got(raw: dict[str, Any]) -> Got:
    then = _got(raw["then"]) if raw["then"] else None
    return Got(base64.b64decode(raw["got"]), raw["pieces"], raw["error"], then)


def post(path: str, body: bytes = b"{}", *extra: str, content_type: str = "application/json") -> bytes:
    """A request as an agent's CLI makes it, with its placeholder for a key, closing nothing."""
    lines = [
        f"POST {path} HTTP/1.1", "Host: 127.0.0.1:9001", f"content-type: {content_type}",
        f"content-length: {len(body)}", f"x-api-key: {PLACEHOLDER}", *extra, "", "",
    ]  # fmt: skip
    return "\r\n".join(lines).encode("latin-1") + body


def get(path: str, *extra: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1:9002", *extra, "", ""]).encode("latin-1")


# -- the containers


@dataclass
class World:
    """One bridge network of the test's own and everything on it."""

    client: docker.DockerClient
    image: str
    instance: str
    gateway: str
    network: str
    made: list[Any] = field(default_factory=list)
    dns: list[str] = field(default_factory=list)
    """Name servers of the egresses, where a test has its own."""

    def labels(self, role: str) -> dict[str, str]:
        return {"gofer.instance": self.instance, "gofer.role": role, "gofer.sandbox": "egress-test"}

    def start(
        self, policy: dict[str, Any], *, command: list[str] = LAUNCH, hosts: dict[str, str] | None = None, **given: str
    ) -> Egress:
        """An egress as the service starts it; returns when it is ready. ``given`` replaces secrets."""
        egress = Egress(self, command, hosts)
        secret = {"model": MODEL_KEY, "fetch": FETCH_TOKEN, "proxy": "", **given}
        egress.tell(json.dumps({"policy": policy, "secrets": secret}).encode() + b"\n")
        egress.wait_for("ready")
        return egress

    def close(self) -> None:
        for egress in self.made:
            egress.close()


def _shut(attached: Any) -> None:
    """docker-py gives the raw end of a response; closing that alone leaves the response's socket to the collector."""
    attached._sock.close()
    attached._response.close()
    attached.close()


class Egress:
    """A running egress container and its socket volumes."""

    def __init__(
        self, world: World, command: list[str], hosts: dict[str, str] | None = None, memory: str = "512m"
    ) -> None:
        self.world = world
        world.made.append(self)
        tag = secrets.token_hex(4)
        roles = ("sock-agent", "sock-fetch", "sock-setup")
        self._volumes = [self._volume(f"gofer-{world.instance}-{tag}-{role}") for role in roles]
        self.container: Container = world.client.containers.create(
            world.image,
            command,
            name=f"gofer-{world.instance}-{tag}-egress",
            labels=world.labels("egress"),
            user="65533:65533",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            tmpfs={"/tmp": "rw,nosuid,nodev,noexec,size=16m,mode=1777"},
            mem_limit=memory,
            memswap_limit=memory,
            pids_limit=128,
            network=world.network,
            extra_hosts=hosts or {},
            dns=world.dns or None,
            init=True,
            detach=True,
            stdin_open=True,
            mounts=self._mounts(read_only=False),
        )
        self.container.start()
        self._stdin: Any = self.container.attach_socket(params={"stdin": 1, "stream": 1})

    def _volume(self, name: str) -> str:
        options = {"type": "tmpfs", "device": "tmpfs", "o": "size=1m,uid=65533,mode=0755"}
        self.world.client.volumes.create(name, driver_opts=options, labels=self.world.labels("sock"))
        return name

    def _mounts(self, *, read_only: bool) -> list[Mount]:
        places = ("/sock/agent", "/sock/fetch", "/sock/setup")
        return [
            Mount(place, name, read_only=read_only, no_copy=True)
            for place, name in zip(places, self._volumes, strict=True)
        ]

    def tell(self, data: bytes) -> None:
        self._stdin._sock.sendall(data)

    def wait_for(self, event: str) -> None:
        """Until a line of that event is in the log; fails with the log when it does not come, or the container ends."""
        wanted, deadline = f'"event": "{event}"'.encode(), time.monotonic() + READY_SECONDS
        while wanted not in (seen := self.container.logs()):
            self.container.reload()
            assert self.container.status == "running", f"ended without {event}: {seen!r}"
            assert time.monotonic() < deadline, f"no {event}: {seen!r}"

    def run(self, *command: str) -> str:
        """Inside the egress container, as its own uid. Only tests do that."""
        output = self.container.exec_run(list(command)).output
        assert isinstance(output, bytes)
        return output.decode("utf-8", "replace")

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.container.logs().splitlines()]

    def verdicts(self) -> list[dict[str, Any]]:
        return [fact for fact in self.log() if fact["event"] == "verdict"]

    def report(self) -> Report:
        return read(self.container.logs().splitlines())

    def talk(self, *exchanges: Exchange) -> list[Got]:
        """All exchanges one after the other, from one container with no network that mounts the sockets read-only."""
        cases = base64.b64encode(json.dumps([it.spoken() for it in exchanges]).encode()).decode()
        container = self.world.client.containers.create(
            self.world.image,
            [*PYTHON, _CLIENT, cases],
            labels=self.world.labels("agent"),
            user="65532:65532",
            read_only=True,
            cap_drop=["ALL"],
            network_mode="none",
            mounts=self._mounts(read_only=True),
        )
        try:
            container.start()
            container.wait(timeout=CLIENT_SECONDS)
            return [_got(raw) for raw in json.loads(container.logs(stderr=False))]
        finally:
            container.remove(force=True)

    def say(self, send: bytes, **more: Any) -> Got:
        return self.talk(Exchange(send, **more))[0]

    def close(self) -> None:
        _shut(self._stdin)
        self.container.remove(force=True)
        for name in self._volumes:
            self.world.client.volumes.get(name).remove(force=True)


@contextlib.contextmanager
def world(client: docker.DockerClient, image: str, instance: str) -> Iterator[World]:
    """The network, and the address on it at which stand-ins listen."""
    name = f"gofer-{instance}-egress-{secrets.token_hex(3)}"
    network = client.networks.create(
        name,
        driver="bridge",
        labels={"gofer.instance": instance},
        options={"com.docker.network.bridge.enable_icc": "false"},
    )
    network.reload()
    here = World(client, image, instance, network.attrs["IPAM"]["Config"][0]["Gateway"], name)
    try:
        yield here
    finally:
        here.close()
        network.remove()


def memory(egress: Egress) -> int:
    """Bytes in the egress's cgroup, without the page cache that the kernel would give back."""
    stats: Any = egress.container.stats(stream=False)
    inside = stats["memory_stats"]["stats"]
    cache = inside.get("total_inactive_file", inside.get("inactive_file", 0))
    return int(stats["memory_stats"]["usage"]) - int(cache)


def policy_for(
    model: StandIn, git: StandIn | None = None, prefix: str = "", budget: Any = None, proxy: Any = None, **more: Any
) -> dict[str, Any]:
    """Both upstreams plain http on the test's own bridge, named private by the operator."""
    return line(
        model=model_part(f"http://{model.host}:{model.port}{prefix}", **more),
        git=None if git is None else git_part(f"http://{git.host}:{git.port}"),
        budget=budget,
        proxy=proxy,
    )


def model_part(base_url: str, **more: Any) -> dict[str, Any]:
    """A gateway that the operator named private."""
    return {**MODEL, "base_url": base_url, "private": True, **more}


def git_part(base_url: str, **more: Any) -> dict[str, Any]:
    return {"base_url": base_url, "private": True, "ca_pem": "", "repository": REPOSITORY, **more}
