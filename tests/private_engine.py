"""A Docker Engine of a test's own, to be stopped, killed and started again at will.

It runs in its own network, mount and process namespaces (what the host unmounts is unmounted there too, or the other
engine's file systems would stay in use): a second engine in the host's network would delete the first
one's bridge, and killing the namespace's first process kills engine, containerd, shims and containers at once, as a
power loss does. Loop devices are the machine's; a test detaches its own.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException

from tests.engine import CALL_SECONDS, Images, need_engine

START_SECONDS = 60.0
STOP_SECONDS = 60.0
POLL_SECONDS = 0.1
COPY_SECONDS = 300
# The engine's own places are under /run: a fresh one for each boot of the namespace.
INIT = (
    "mount -t tmpfs tmpfs /run && mount -t proc proc /proc && ip link set lo up && exec docker-init -- sleep infinity"
)


class PrivateEngine:
    """Stopped at first. ``folder`` should be short: sockets are in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "engine.sock"
        self._init: subprocess.Popen[bytes] | None = None
        self._engine: subprocess.Popen[bytes] | None = None
        self._log = (folder / "log").open("wb")

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def boot(self, *, live_restore: bool = False) -> None:
        """A machine that comes up, and its engine."""
        command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "slave"]
        self._init = subprocess.Popen([*command, "sh", "-c", INIT], stdout=self._log, stderr=self._log)
        self.start(live_restore=live_restore)

    def start(self, *, live_restore: bool = False) -> None:
        """The engine alone. Fails the test where it does not answer within a minute."""
        self.path.unlink(missing_ok=True)
        until = time.monotonic() + START_SECONDS
        options = ["--data-root", str(self.folder / "data"), "--host", self.url, "--cgroup-parent", "/gofer-private"]
        restore = ["--live-restore"] if live_restore else []
        self._engine = subprocess.Popen(
            ["nsenter", f"--target={self._first()}", "--net", "--mount", "--pid", "dockerd", *options, *restore],
            stdout=self._log,
            stderr=self._log,
        )
        while not self._answers():
            if time.monotonic() > until or self._engine.poll() is not None:
                self._log.flush()
                pytest.fail(f"the private engine did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """As an operator does: SIGTERM, and wait."""
        self._signal("dockerd", signal.SIGTERM)
        self._wait()

    def kill(self) -> None:
        """The engine alone dies; containerd, shims and containers live on."""
        self._signal("dockerd", signal.SIGKILL)
        self._wait()

    def power_loss(self) -> None:
        """Everything dies in the same moment."""
        if self._init is not None:
            os.kill(self._first(), signal.SIGKILL)
            self._init.wait(STOP_SECONDS)
            self._wait()
            self._init = None

    def close(self) -> None:
        self.power_loss()
        self._log.close()

    @contextmanager
    def client(self) -> Iterator[docker.DockerClient]:
        client = docker.DockerClient(base_url=self.url, timeout=CALL_SECONDS)
        try:
            yield client
        finally:
            client.close()

    def load(self, *images: str) -> None:
        """Take images from the engine of the tests, by ID; ``images`` are TAG=ID."""
        ids = [image.partition("=")[2] for image in images]
        take = ["docker", "--host", self.url, "load", "--quiet"]
        with subprocess.Popen(["docker", "save", *ids], stdout=subprocess.PIPE) as give:
            subprocess.run(take, stdin=give.stdout, check=True, stdout=subprocess.DEVNULL, timeout=COPY_SECONDS)
        assert give.returncode == 0
        with self.client() as client:
            for image in images:
                tag, _, identity = image.partition("=")
                client.images.get(identity).tag(tag)

    def _first(self) -> int:
        """The namespace's first process: the child of `unshare`."""
        assert self._init is not None
        children = Path(f"/proc/{self._init.pid}/task/{self._init.pid}/children")
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            found = children.read_text().split()
            if found and Path(f"/proc/{found[0]}/comm").read_text().strip() == "docker-init":
                return int(found[0])
            time.sleep(POLL_SECONDS)
        pytest.fail("the private engine's namespace did not come up")

    def _signal(self, program: str, number: signal.Signals) -> None:
        namespace = os.readlink(f"/proc/{self._first()}/ns/pid")
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                mine = os.readlink(entry / "ns/pid") == namespace
                if mine and (entry / "comm").read_text().strip() == program:
                    os.kill(int(entry.name), number)
            except OSError:  # it ended while we looked
                continue

    def _wait(self) -> None:
        if self._engine is not None:
            self._engine.wait(STOP_SECONDS)
            self._engine = None

    def _answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as probe:  # docker's own client leaks one that nobody answers
                probe.connect(str(self.path))
            with self.client() as client:
                return bool(client.ping())
        except (OSError, DockerException):
            return False


@pytest.fixture(scope="module")
def private_engine(images: Images) -> Iterator[PrivateEngine]:
    """One that has the base and the egress image; booted by each test. Needs root on this machine."""
    need_engine()
    if os.geteuid() != 0:
        pytest.skip("a private engine needs root")
    folder = Path(tempfile.mkdtemp(prefix=f"g{secrets.token_hex(2)}"))
    engine = PrivateEngine(folder)
    try:
        engine.boot()
        engine.load(f"{images.prefix}/base:latest={images.base}", f"{images.prefix}/egress:latest={images.egress}")
        engine.stop()
        engine.power_loss()
        yield engine
    finally:
        engine.close()
        shutil.rmtree(folder, ignore_errors=True)
