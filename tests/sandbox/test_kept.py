"""What is kept for the next task: which goes when, and that nothing needed ever does."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import docker
import pytest

from sandbox.context import Context
from sandbox.engine import Volume
from sandbox.engines import names as things
from sandbox.job import Source
from sandbox.kept import GRACE_SECONDS, Item, Record, expendable
from sandbox.opening import open_context
from sandbox.state import Workspace
from tests.engine import Images
from tests.local_sandbox import settings_for
from tests.scripted import agents

DAY = 86_400.0
NOW = 1_000_000.0


def item(name: str, size: int = 10, age: float = DAY, *, stale: bool = False) -> Item:
    return Item(name, Record(bytes=size, stale=stale, used_at=NOW - age))


@pytest.mark.parametrize(
    ("items", "needed", "gone"),
    [
        ([item("a")], set(), []),
        ([item("a", age=8 * DAY)], set(), ["a"]),  # unused for as long as a sandbox would be kept
        ([item("a", age=8 * DAY)], {"a"}, []),
        ([item("a", stale=True)], set(), ["a"]),
        ([item("a", stale=True)], {"a"}, []),
        ([item("a", age=3 * DAY), item("b", age=2 * DAY), item("c")], set(), []),
        ([item("a", 60, 3 * DAY), item("b", 30, 2 * DAY), item("c", 30)], set(), ["a"]),  # least recently used first
        ([item("c", 90), item("a", 60, 3 * DAY), item("b", 30, 2 * DAY)], set(), ["a", "b"]),
        ([item("a", 200, 3 * DAY), item("b", 30, 2 * DAY)], {"a"}, ["b"]),
        # What has just been used may not have been recorded by whoever needs it yet.
        ([item("a", 200, GRACE_SECONDS - 1, stale=True)], set(), []),
        ([item("a", 10, -DAY)], set(), []),  # a clock that went back makes nothing due
    ],
)
def test_which_go(items: list[Item], needed: set[str], gone: list[str]) -> None:
    assert expendable(items, frozenset(needed), NOW, 7 * DAY, 100) == gone


@pytest.fixture
async def context(
    docker_client: docker.DockerClient, images: Images, engine_host: str, instance: str, tmp_path: Path
) -> AsyncIterator[Context]:
    settings = settings_for(engine_host, images.prefix, instance, tmp_path)
    clock = {"now": NOW}
    opened = await open_context(settings, agents(""), lambda: clock["now"], 30.0)
    opened.kept.most_bytes = 100
    clocks[opened.settings.state_dir] = clock
    yield opened
    await opened.close()


clocks: dict[Path, dict[str, float]] = {}


def later(context: Context, seconds: float) -> None:
    clocks[context.settings.state_dir]["now"] += seconds


async def made(context: Context, size: int = 10, *, stale: bool = False) -> str:
    volume = things.mirror_volume(context.settings.instance, "https://git.example", secrets.token_hex(4))
    async with context.kept.claimed(context, volume.name):
        await context.engine.make_volume(volume)
        await context.kept.note(context, volume.name, size=size, stale=stale)
    return volume.name


async def there(context: Context, *volumes: str) -> list[bool]:
    return [await context.engine.volume(volume) is not None for volume in volumes]


@pytest.mark.engine
async def test_the_unused_goes_and_the_needed_stays(context: Context) -> None:
    old, needed, saved, large = [await made(context, 30) for _ in range(4)]
    state = context.state("needs")
    workspace = Workspace(base_commit="0" * 40, id="0" * 16, boot="", source=Source(url="u"), mirror=needed)
    await context.disk.run(lambda: state.set_workspace(workspace))
    later(context, 2 * GRACE_SECONDS)
    await context.kept.touch(context, saved)
    await context.kept.touch(context, large)
    assert await context.kept.tidy(context) == [old]  # 120 bytes of 100, and the oldest that nothing needs
    assert await there(context, old, needed, saved, large) == [False, True, True, True]
    later(context, 8 * DAY)
    async with context.kept.claimed(context, large):  # whoever prepares for a task on it
        assert await there(context, saved, large, needed) == [False, False, True]
    await context.disk.run(state.remove)
    assert await context.kept.tidy(context) == [needed]


@pytest.mark.engine
async def test_a_claim_holds_and_so_does_a_container(context: Context, docker_client: docker.DockerClient) -> None:
    one = await made(context, stale=True)
    later(context, 2 * GRACE_SECONDS)
    volume = {one: {"bind": "/x", "mode": "ro"}}
    labels = {"gofer.instance": context.settings.instance}
    container = docker_client.containers.create(context.images.base, ["true"], volumes=volume, labels=labels)
    try:
        assert await context.kept.tidy(context) == []
    finally:
        container.remove(force=True)
    other = await made(context)
    assert await there(context, one) == [False]  # as the next preparation began
    later(context, 8 * DAY)
    entered, leave = asyncio.Event(), asyncio.Event()

    async def prepare() -> None:
        async with context.kept.claimed(context, other):
            await context.engine.make_volume(Volume(other, things.labels(context.settings.instance, "", "mirror")))
            await context.kept.note(context, other, size=1)
            later(context, 8 * DAY)
            entered.set()
            await leave.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(prepare())
        await entered.wait()
        assert await context.kept.tidy(context) == []
        leave.set()
    assert await context.kept.tidy(context) == [other]


@pytest.mark.engine
async def test_what_a_fetch_that_failed_has_made_of_a_mirror_goes(context: Context) -> None:
    volume = things.mirror_volume(context.settings.instance, "https://git.example", secrets.token_hex(4))

    async def fetch() -> None:
        async with context.kept.claimed(context, volume.name):
            await context.engine.make_volume(volume)
            raise OSError("no such repository")

    for _ in range(2):
        with pytest.raises(OSError, match="no such repository"):
            await fetch()
        assert await there(context, volume.name) == [True]
        later(context, 2 * GRACE_SECONDS)
        assert await context.kept.tidy(context) == [volume.name]
        assert await there(context, volume.name) == [False]
