"""What the service asks of a container engine: small verbs over containers, volumes and one network.

Rules for every verb of ``Engine``:

- *Unknown is not absent.* Only an engine that says "no such thing" makes something gone (``None``, or ``Gone`` where
  the verb needs the thing). A timeout, a broken connection or an error of the engine is ``sandbox.Unreachable``;
  ``Refused`` is the part of it where the engine did answer, with no.
- Every verb ends within a named time, whatever the engine does.
- Verbs may be called at the same time from one event loop; for one container, in the order of its life.
- Names are ours and unique on the engine; labels say whose a thing is (``LABEL_*``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from sandbox import Unreachable

LABEL_INSTANCE = "gofer.instance"
LABEL_SANDBOX = "gofer.sandbox"
LABEL_ROLE = "gofer.role"

STDOUT, STDERR = 1, 2
"""Channels of an attached stream, as the engine numbers them."""


class Gone(Exception):
    """The engine says that there is no such container, volume or network."""


class Refused(Unreachable):
    """The engine answered, and the answer was no. ``status`` is its HTTP status."""

    def __init__(self, words: str, status: int = 0) -> None:
        super().__init__(words)
        self.status = status


class Differs(Refused):
    """What the engine made is not what was planned. It has been removed again: nothing may run in it."""


@dataclass(frozen=True)
class Plan:
    """One container: its name and its complete settings, in the words of the Docker Engine API (``/create``)."""

    name: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Volume:
    """One volume of the local driver. ``options`` are the driver's: empty for a plain folder."""

    name: str
    labels: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """The state of a container at one moment. Times are seconds since 1970 by the engine's clock, None: not yet."""

    running: bool
    started: bool
    """It has been started at least once."""
    exit_code: int | None
    """None while it runs or has never run."""
    oom: bool = False
    """The kernel killed a process in it for memory; not necessarily the main one."""
    started_at: float | None = None
    finished_at: float | None = None
    paused: bool = False
    """Somebody holds it still: it runs, and does nothing."""


@dataclass(frozen=True)
class Item:
    """A container or volume of this instance. ``sandbox`` is empty for what belongs to the instance itself."""

    name: str
    sandbox: str
    role: str


@dataclass(frozen=True)
class Found:
    """All that an instance (or one sandbox of it) has on the engine."""

    containers: tuple[Item, ...] = ()
    volumes: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Host:
    """What the engine says of its machine."""

    cpus: int
    runtimes: frozenset[str]
    version: str = ""
    """Of the engine, as it says itself."""


@dataclass(frozen=True)
class Image:
    """What an image is made of, and what it would have its containers do."""

    id: str
    layers: tuple[str, ...]
    """Hashes of their content, the lowest first."""
    environment: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    healthcheck: bool = False
    labels: tuple[tuple[str, str], ...] = ()


class Stream(Protocol):
    """The attached ends of a container: stdin in, stdout and stderr out, byte for byte."""

    async def write(self, data: bytes) -> None:
        """Send to stdin. Raises ``Unreachable`` where the connection broke."""
        ...

    async def read(self) -> tuple[int, bytes] | None:
        """The next piece as (channel, bytes), None when the container's streams have ended."""
        ...


class Engine(Protocol):
    """See the head of this file for what holds of every verb."""

    async def host(self) -> Host: ...

    async def image(self, tag: str) -> str | None:
        """The image ID behind a local tag, None where there is none. Never asks a registry."""
        ...

    async def look_at_image(self, name: str) -> Image | None:
        """The same, whole, by tag or ID."""
        ...

    async def create(self, plan: Plan) -> None:
        """Create, then compare what the engine says it made with the plan.

        Raises ``Differs`` (after removing it) where anything is not as planned, ``Refused`` with status 409 where
        the name is taken.
        """
        ...

    async def put(self, container: str, folder: str, archive: bytes) -> None:
        """Unpack a tar archive into a folder of a container that has never been started."""
        ...

    async def start(self, container: str) -> None:
        """Start; does nothing where it runs already. Raises ``Gone``."""
        ...

    def attach(self, container: str) -> AbstractAsyncContextManager[Stream]:
        """Connect to its streams, before it is started: nothing of its output is missed then. Leaving the block
        lets go of the connection; the container and its stdin stay as they are."""
        ...

    async def look(self, container: str) -> Look | None:
        """Its state now; None: gone."""
        ...

    async def kill(self, container: str) -> None:
        """SIGKILL, and return only when it has been seen not running. Fine where it does not run or is gone."""
        ...

    async def remove(self, container: str) -> None:
        """Kill and remove, anonymous volumes too; fine where it is gone."""
        ...

    async def logs(
        self, container: str, feed: Callable[[int, bytes], None], *, tail: int = 0, since: float = 0.0
    ) -> bool:
        """Hand the recorded output to ``feed`` as (channel, piece), in another thread; False: the container is gone.

        ``tail`` lines at most (0: all), only what was written at ``since`` or later (seconds since 1970). Output is
        recorded as text: for exact bytes use ``attach``.
        """
        ...

    async def ended(self, container: str, seconds: float) -> None:
        """Return when the container ends, or after ``seconds``, or earlier for no reason: look again after it."""
        ...

    async def make_volume(self, volume: Volume) -> None:
        """Create; fine where the very same one exists. ``Refused`` where it exists with other options or labels:
        engines silently accept options that they then ignore, so what is there is always looked at."""
        ...

    async def volume(self, name: str) -> Volume | None: ...

    async def remove_volume(self, name: str) -> None:
        """Fine where it is gone. ``Refused`` with status 409 while a container uses it."""
        ...

    async def find(self, instance: str, sandbox: str | None = None) -> Found:
        """By label, stopped and never-started ones included."""
        ...

    async def make_network(self, name: str, labels: Mapping[str, str]) -> None:
        """A bridge on which containers cannot reach each other; fine where it exists as such."""
        ...

    async def remove_network(self, name: str) -> None:
        """Fine where it is gone."""
        ...

    async def close(self) -> None:
        """Let go of threads and connections without waiting for a hung engine. Containers run on."""
        ...
