"""Dependencies kept for every task on a repository that has the same ones: found, made whole or not at all."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sandbox.context import Context
from sandbox.engine import Refused, Volume
from sandbox.engines import names as things
from sandbox.engines.names import HASH_DIGITS, Names
from sandbox.helpers import store
from sandbox.job import Limits, Setup

# Part of every key: raised where what a setup phase leaves, or where it is found, changes.
FORMAT = 1


@dataclass(frozen=True)
class Given:
    """What a setup phase is given of the repository: files by path, and whether each may be executed."""

    files: Mapping[str, tuple[bytes, bool]]
    missing: tuple[str, ...] = ()


def key_of(repository: str, image: str, setup: Setup, given: Given) -> str:
    """Names what a setup phase makes: of all that can decide about it. Pure."""
    files = [[path, hashlib.sha256(data).hexdigest(), runs] for path, (data, runs) in sorted(given.files.items())]
    whole = [FORMAT, repository, image, setup.commands, sorted(set(setup.lockfiles)), files, sorted(given.missing)]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:HASH_DIGITS]


def key_in(volume: str) -> str:
    """The key in the name of a volume."""
    return volume.rpartition("-")[2]


async def found(context: Context, key: str) -> str:
    """The volume of whole dependencies, empty where there are none. Raises ``HelperFailed``, ``Unreachable``."""
    answer = await store(context, "", "deps", "attach", key)
    if not answer["device"]:
        return ""
    volume = things.deps_volume(context.settings.instance, key, str(answer["device"]))
    await _made(context, volume)
    await context.kept.note(context, volume.name, size=int(answer["bytes"]))
    return volume.name


async def _made(context: Context, volume: Volume) -> None:
    """After another boot the device has another number: the volume of then is in the way, and nobody's."""
    try:
        await context.engine.make_volume(volume)
    except Refused:
        await context.engine.remove_volume(volume.name)
        await context.engine.make_volume(volume)


@dataclass
class Draft:
    """An empty file system to fill. ``whole``: set once it may be kept."""

    volume: str
    whole: bool = False


@asynccontextmanager
async def draft(context: Context, names: Names, key: str, limits: Limits) -> AsyncIterator[Draft]:
    """For the length of the block. After it nothing mounts it, and it is kept or gone: a process that dies in between
    leaves a draft that nobody is ever given, and that a later one removes."""
    identity = secrets.token_hex(8)
    size = (str(limits.workspace_bytes), str(limits.workspace_inodes))
    answer = await store(context, names.sandbox, "deps", "make", key, identity, *size)
    volume = things.draft_volume(names, str(answer["device"]))
    made = Draft(volume.name)
    try:
        await context.engine.make_volume(volume)
        yield made
    finally:
        await context.engine.remove(names.of("setup"))
        await context.engine.remove_volume(volume.name)
        await store(context, names.sandbox, "deps", "seal" if made.whole else "drop", key, identity)


async def remove(context: Context, volume: str) -> None:
    """The files behind a volume that has been removed."""
    await store(context, "", "deps", "remove", key_in(volume))


async def remove_all(context: Context) -> None:
    """Of an instance whose volumes of dependencies are gone; fine where there never were any."""
    if await context.engine.volume(things.images_volume(context.settings.instance).name) is not None:
        await store(context, "", "deps", "clear")
