"""What the tests of the general way out need beside the rig: a client that speaks TLS in a tunnel, from a container
with no network, and a name server that logs what it is asked."""

from __future__ import annotations

import base64
import json
import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.sandbox.egress.policies import line
from tests.sandbox.egress.rig import CLIENT_SECONDS, PYTHON, Egress, Got, StandIn

# Runs in a container without any network: CONNECT, then TLS with the published certificate, then bytes.
_CLIENT = r"""
import base64, json, re, socket, ssl, sys, warnings
warnings.simplefilter("ignore")
KEPT = 1 << 16
def whole(got, count, head):
    top, blank, _ = got.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", top)
    return bool(blank and (head or (length and count >= len(top) + 4 + int(length[1]))))
def asked(it, out):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(it["seconds"])
    s.connect("/sock/" + it["to"])
    s.sendall(base64.b64decode(it["connect"]))
    top = b""
    while b"\r\n\r\n" not in top:
        piece = s.recv(1)
        if not piece:
            break
        top += piece
    out["connect"] = top.decode("latin-1").split("\r\n")[0]
    if b" 200 " not in top.split(b"\r\n")[0]:
        while piece := s.recv(65536):
            top += piece
        out["got"] = base64.b64encode(top).decode()
        return
    if it["tls"]:
        context = ssl.create_default_context(cafile="/sock/" + it["to"].split("/")[0] + "/ca.pem")
        context.check_hostname = it["sni"] == it["host"]
        if it["alpn"]:
            context.set_alpn_protocols(it["alpn"])
        s = context.wrap_socket(s, server_hostname=it["sni"] or None)
        out["alpn"], out["version"] = s.selected_alpn_protocol() or "", s.version()
        out["certificate"] = s.getpeercert().get("subjectAltName", [])
    got, count = b"", 0
    try:
        for part in it["send"]:
            if isinstance(part, dict):
                left = part["zeros"]
                while left > 0:
                    s.sendall(bytes(min(left, 65536)))
                    left -= 65536
            else:
                s.sendall(base64.b64decode(part))
    except OSError as error:
        out["error"] = "send: " + type(error).__name__
    try:
        while not whole(got, count, it["head"]):
            piece = s.recv(65536)
            if not piece:
                break
            got, count = (got + piece)[:KEPT], count + len(piece)
    except OSError as error:
        out["error"] = out["error"] or type(error).__name__
    finally:
        out["got"] = base64.b64encode(got).decode()
        out["bytes"] = count
        s.close()
def run(it):
    out = {"connect": "", "alpn": "", "version": "", "certificate": [], "got": "", "bytes": 0, "error": ""}
    try:
        asked(it, out)
    except OSError as error:
        out["error"] = type(error).__name__
    return out
print(json.dumps([run(it) for it in json.loads(base64.b64decode(sys.argv[1]))]))
"""


@dataclass
class Tunnel:
    """One CONNECT and what is sent inside it. ``sni`` None: the host itself; empty: none is said."""

    host: str
    port: int
    send: bytes
    sni: str | None = None
    tls: bool = True
    alpn: tuple[str, ...] = ()
    to: str = "agent/general.sock"
    connect: bytes = b""
    zeros: int = 0
    head: bool = False
    """The answer has no body, whatever its head says."""
    seconds: float = 20

    def spoken(self) -> dict[str, Any]:
        authority = f"{self.host}:{self.port}"
        connect = self.connect or f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode()
        return {
            "host": self.host,
            "sni": self.host if self.sni is None else self.sni,
            "tls": self.tls,
            "alpn": list(self.alpn),
            "to": self.to,
            "connect": base64.b64encode(connect).decode(),
            "send": [base64.b64encode(self.send).decode(), *([{"zeros": self.zeros}] if self.zeros else [])],
            "head": self.head,
            "seconds": self.seconds,
        }


@dataclass
class Told(Got):
    """``connect``: the first line of the answer to CONNECT. What came inside is in ``data``; ``bytes`` counts it."""

    connect: str = ""
    alpn: str = ""
    version: str = ""
    certificate: tuple[tuple[str, str], ...] = ()
    bytes: int = 0

    @property
    def phrase(self) -> str:
        return self.data.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")[2].partition(" ")[2]


def through(egress: Egress, *tunnels: Tunnel) -> list[Told]:
    """All tunnels one after the other, from one container with no network that mounts the sockets read-only."""
    cases = base64.b64encode(json.dumps([tunnel.spoken() for tunnel in tunnels]).encode()).decode()
    output = in_client(egress, [*PYTHON, _CLIENT, cases])
    return [
        Told(
            base64.b64decode(raw["got"]), [], raw["error"], None, raw["connect"], raw["alpn"], raw["version"],
            tuple((kind, name) for kind, name in raw["certificate"]), raw["bytes"],
        )
        for raw in json.loads(output)
    ]  # fmt: skip


def in_client(egress: Egress, command: Sequence[str]) -> bytes:
    """What a command prints in a container like the agent's: no network, the sockets read-only."""
    container = egress.world.client.containers.create(
        egress.world.image,
        list(command),
        labels=egress.world.labels("agent"),
        user="65532:65532",
        read_only=True,
        cap_drop=["ALL"],
        network_mode="none",
        mounts=egress._mounts(read_only=True),
    )
    try:
        container.start()
        container.wait(timeout=CLIENT_SECONDS)
        output = container.logs(stderr=False)
        assert isinstance(output, bytes)
        assert output, container.logs()
        return output
    finally:
        container.remove(force=True)


def get(host: str, path: str = "/left-pad", *extra: str, method: str = "GET") -> bytes:
    """A request as it is made inside a tunnel."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *extra, "", ""]).encode("latin-1")


def place(upstream: StandIn, host: str, ca_pem: str, grammar: str = "plain", *, private: bool = True) -> dict[str, Any]:
    return {"host": host, "port": upstream.port, "private": private, "ca_pem": ca_pem, "grammar": grammar}


def general_policy(*allowed: dict[str, Any], setup: bool = False, **more: Any) -> dict[str, Any]:
    """No model and no repository: only what the operator allows beside them."""
    return line(model=None, git=None, general={"allowed": list(allowed), "setup": setup, "seconds": 60}, **more)


class NameServer:
    """Answers for every name with an address that ``answering`` gives (None: there is no such name); logs each name.

    On port 53 of the test's own bridge, so that a container can be told to ask here.
    """

    def __init__(self, address: str, answering: Callable[[str], str | None]) -> None:
        self.answering = answering
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((address, 53))
        except PermissionError:
            why = "port 53 is not free to this user; root may, or sysctl net.ipv4.ip_unprivileged_port_start=53"
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                data, client = self._socket.recvfrom(4096)
            except OSError:
                return
            if len(data) < 17:  # the word that ends it
                return
            name, end = self._name(data)
            self.asked.append(name)
            self._socket.sendto(self._answer(data, name, end), client)

    @staticmethod
    def _name(data: bytes) -> tuple[str, int]:
        labels, at = [], 12
        while (length := data[at]) != 0:
            labels.append(data[at + 1 : at + 1 + length].decode("latin-1"))
            at += 1 + length
        return ".".join(labels).lower(), at + 1

    def _answer(self, data: bytes, name: str, end: int) -> bytes:
        kind = int.from_bytes(data[end : end + 2], "big")
        question = data[12 : end + 4]
        if kind != 1:  # an IPv6 address, say: there is none
            return data[:2] + b"\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00" + question
        address = self.answering(name)
        if address is None:
            return data[:2] + b"\x81\x83\x00\x01\x00\x00\x00\x00\x00\x00" + question
        record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04" + socket.inet_aton(address)
        return data[:2] + b"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" + question + record

    def close(self) -> None:
        self._socket.sendto(b"end", self._socket.getsockname())
        self._thread.join(5)
        self._socket.close()
