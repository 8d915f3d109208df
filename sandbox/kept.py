"""What is kept for the next task on a repository: its mirror, and the dependencies that a setup phase left.

Each is a volume of the instance with a record beside it (``kept/VOLUME.json`` in the state folder): its size, and when
it was last used. Volumes that nothing needs go: those unused for as long as a sandbox would be kept, the least
recently used beyond a bound for all together, and those that had better be made anew. Nothing is removed that a
workspace or a snapshot has recorded, that a preparation of this process has claimed, or that any container mounts (the
engine refuses).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import Unreachable, files
from sandbox.engine import Refused
from sandbox.job import Frozen

if TYPE_CHECKING:
    from sandbox.context import Context

# For all of an instance together. A mirror is as large as its repository's history, dependencies some hundred MB.
MOST_BYTES = 40 * 2**30
# From the end of a fetch to the record of its workspace: a moment. No volume is removed so soon after its use.
GRACE_SECONDS = 600.0
ROLES = ("mirror", "deps")
_log = logging.getLogger(__name__)


class Record(Frozen):
    """``bytes``: on the disk when last looked at. ``stale``: to be made anew as soon as nothing uses it."""

    bytes: int = 0
    stale: bool = False
    used_at: float = 0.0


@dataclass(frozen=True)
class Item:
    """One kept volume."""

    volume: str
    record: Record


def expendable(items: Iterable[Item], needed: frozenset[str], now: float, seconds: float, most: int) -> list[str]:
    """Which to remove, the least recently used first. Pure. ``needed`` ones stay, whatever they take."""
    kept = sorted(items, key=lambda item: item.record.used_at)
    total = sum(item.record.bytes for item in kept)
    gone: list[str] = []
    for item in kept:
        if item.volume in needed or now - item.record.used_at < GRACE_SECONDS:
            continue
        if item.record.stale or now - item.record.used_at > seconds or total > most:
            gone.append(item.volume)
            total -= item.record.bytes
    return gone


@dataclass
class Kept:
    """The registry of one service. ``most_bytes``: see ``MOST_BYTES``."""

    most_bytes: int = MOST_BYTES
    _claims: Counter[str] = field(default_factory=Counter)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def claimed(self, context: Context, volume: str) -> AsyncIterator[None]:
        """For the length of the block it is not removed, whoever tidies up. A stale one that nothing needs is removed
        before: what it held is made anew. (Whoever needs it longer records it, or a container has it mounted.)

        One that is new has a record before it is made: what a fetch that fails or is killed has made of it goes soon.
        """
        async with self._lock:
            await self._tidied(context)
            self._claims[volume] += 1
        try:
            await context.disk.run(lambda: _intend(_folder(context), volume, context.clock()))
            yield
        finally:
            self._claims[volume] -= 1

    async def note(self, context: Context, volume: str, *, size: int, stale: bool = False) -> None:
        """It has just been used."""
        record = Record(bytes=size, stale=stale, used_at=context.clock())
        await context.disk.run(lambda: _write(_folder(context), volume, record))

    async def touch(self, context: Context, volume: str) -> None:
        """It has just been used, and is as it was."""
        before = await context.disk.run(lambda: files.read(_folder(context) / f"{volume}.json", Record)) or Record()
        await self.note(context, volume, size=before.bytes, stale=before.stale)

    async def tidy(self, context: Context) -> list[str]:
        """Remove what is not worth keeping; answers the volumes removed. Raises ``Unreachable``."""
        async with self._lock:
            return await self._tidied(context)

    async def _tidied(self, context: Context) -> list[str]:
        needed = await self._needed(context)
        items = await context.disk.run(lambda: _items(_folder(context)))
        gone = []
        seconds = context.settings.retention_seconds
        for volume in expendable(items, needed, context.clock(), seconds, self.most_bytes):
            try:
                await context.engine.remove_volume(volume)
            except Refused as error:  # a container has it
                _log.info("%s is still in use: %s", volume, error)
                continue
            if "-deps-" in volume:
                await _remove_deps(context, volume)
            await context.disk.run((_folder(context) / f"{volume}.json").unlink)
            gone.append(volume)
        return gone

    async def _needed(self, context: Context) -> frozenset[str]:
        recorded = await context.disk.run(lambda: _recorded(context))
        return recorded | {volume for volume, count in self._claims.items() if count > 0}


async def remove_all(context: Context) -> None:
    """Every kept volume of the instance, those without a record too; no sandbox is left that could need one."""
    found = await context.engine.find(context.settings.instance)
    volumes = [item.name for item in found.volumes if item.role in ROLES]
    await asyncio.gather(*(context.engine.remove_volume(name) for name in volumes))
    from sandbox import deps  # it stands on the context, which holds a Kept

    await deps.remove_all(context)
    await context.disk.run(lambda: files.remove_folder(_folder(context)))


def _folder(context: Context) -> Path:
    return context.settings.state_dir / "kept"


def _write(folder: Path, volume: str, record: Record) -> None:
    files.make_folder(folder)
    files.write(folder / f"{volume}.json", record)


def _intend(folder: Path, volume: str, now: float) -> None:
    """Of no use until it is noted, and found whatever happens."""
    if files.read(folder / f"{volume}.json", Record) is None:
        _write(folder, volume, Record(stale=True, used_at=now))


def _items(folder: Path) -> list[Item]:
    if not folder.is_dir():
        return []
    found = [(path.name.removesuffix(".json"), files.read(path, Record)) for path in sorted(folder.glob("*.json"))]
    return [Item(volume, record) for volume, record in found if record is not None]


def _recorded(context: Context) -> frozenset[str]:
    """Mirrors that hold objects of a workspace or of a snapshot."""
    needed = set()
    for name in context.states.names():
        state = context.state(name)
        saved = state.snapshot()
        for workspace in (state.workspace(), saved.workspace if saved else None):
            if workspace is not None and workspace.mirror:
                needed.add(workspace.mirror)
    return frozenset(needed)


async def _remove_deps(context: Context, volume: str) -> None:
    """The files behind it; a helper that failed is asked again in the next round, for the record stays."""
    from sandbox import deps  # it stands on the context, which holds a Kept
    from sandbox.helpers import HelperFailed

    try:
        await deps.remove(context, volume)
    except HelperFailed as error:
        raise Unreachable(f"the files of {volume} could not be removed: {error}") from error
