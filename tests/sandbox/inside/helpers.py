"""Runs the helper scripts as the service does: the real image, users, capabilities, mounts and commands."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import docker
from docker.models.containers import Container

from tests.sandbox.inside.lab import tar

HELPER_SECONDS = 200
HARDENED: dict[str, Any] = {
    "network_mode": "none",
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
    "pids_limit": 128,
    "mem_limit": "1g",
}
STORE: dict[str, Any] = {
    "cap_add": ["SYS_ADMIN"],
    "device_cgroup_rules": ["b 7:* rmw", "c 10:237 rmw"],
    "tmpfs": {"/tmp": "rw,size=1m"},
}
SIZE = str(64 << 20)


@dataclass(frozen=True)
class Ended:
    """A finished container: exit status, standard output and error."""

    code: int
    out: bytes
    words: str

    @property
    def line(self) -> dict[str, Any]:
        """Its first line of output, as JSON."""
        parsed = json.loads(self.out.split(b"\n", 1)[0])
        assert isinstance(parsed, dict)
        return parsed


@dataclass
class Helpers:
    """One folder of images and the volumes over it; ``close`` removes all that was made."""

    client: docker.DockerClient
    image: str
    instance: str
    volumes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.images = self.volume()

    def volume(self, device: str | None = None, options: Mapping[str, str] | None = None) -> str:
        name = f"gofer-{self.instance}-h{secrets.token_hex(4)}"
        opts = dict(options or {})
        if device:
            opts = {"type": "ext4", "device": device, "o": "nosuid,nodev"}
        self.client.volumes.create(name, driver_opts=opts, labels={"gofer.instance": self.instance})
        self.volumes.append(name)
        return name

    def create(self, command: Sequence[str], user: str, mounts: Mapping[str, str], **extra: Any) -> Container:
        """``mounts``: place -> "volume" or "volume:ro"."""
        settings = {**HARDENED, "tmpfs": {"/tmp": "rw,nosuid,nodev,size=320m"}, **extra}
        volumes = {}
        for place, source in mounts.items():
            name, _, mode = source.partition(":")
            volumes[name] = {"bind": place, "mode": mode or "rw"}
        return self.client.containers.create(
            self.image, list(command), user=user, volumes=volumes, labels={"gofer.instance": self.instance}, **settings
        )

    def run(self, command: Sequence[str], user: str, mounts: Mapping[str, str], **extra: Any) -> Ended:
        """Run to its end and remove it."""
        container = self.create(command, user, mounts, **extra)
        try:
            container.start()
            code = container.wait(timeout=HELPER_SECONDS)["StatusCode"]
            out = container.logs(stdout=True, stderr=False)
            words = container.logs(stdout=False, stderr=True).decode(errors="replace")
            return Ended(code, out, words)
        finally:
            container.remove(force=True, v=True)

    def store(self, *args: str) -> Ended:
        command = ["python3", "-I", "-m", "sandbox.inside.store", *args]
        return self.run(command, "0:0", {"/images": self.images, "/dev": "/dev"}, **STORE)

    def stores(self, *commands: Sequence[str]) -> list[dict[str, Any]]:
        """Several commands of the store, one after the other in one container; a failed one has an "error"."""
        script = "; ".join(shlex.join(["python3", "-I", "-m", "sandbox.inside.store", *args]) for args in commands)
        out = self.on_devices(["sh", "-c", script]).out
        return [json.loads(line) for line in out.splitlines()]

    def on_devices(self, command: Sequence[str]) -> Ended:
        """Some other command with the store's rights."""
        return self.run(command, "0:0", {"/images": self.images, "/dev": "/dev"}, **STORE)

    def inputs(self, files: Mapping[str, bytes]) -> str:
        """A volume filled through a container that never starts."""
        name = self.volume()
        container = self.create(["true"], "0:0", {"/inputs": name}, read_only=False)
        try:
            container.put_archive("/inputs", tar(dict(files)))
        finally:
            container.remove(force=True, v=True)
        return name

    def close(self) -> None:
        self.store("deps", "clear")
        names = self.store("list").line["names"]
        if names:
            self.stores(*(["remove", name] for name in names))
        for name in self.volumes:
            self.client.volumes.get(name).remove(force=True)
