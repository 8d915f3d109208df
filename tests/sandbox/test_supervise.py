"""What is begun is seen to its end: every state leads on, one that could not be asked about is asked again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox import Phase, Unreachable, files, supervise
from sandbox.supervise import Facts, Move, Supervisor, move

BOUND = 10.0
DRIVEN = Facts(there=True, driven=True)


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (Facts(), Move.NOTHING),
        (DRIVEN, Move.PREPARE),
        (Facts(there=True, driven=True, ready=True), Move.START),
        (Facts(there=True, driven=True, ready=True, started=True), Move.WATCH),
        (
            Facts(there=True, driven=True, started=True),
            Move.WATCH,
        ),  # ready in an earlier boot: it tells that it is lost
        (Facts(there=True, driven=True, killed=True), Move.COLLECT),
        (Facts(there=True, driven=True, ready=True, started=True, killed=True), Move.COLLECT),
        (Facts(there=True, driven=True, ready=True, started=True, ended=True), Move.TIDY),
        (Facts(there=True), Move.NOTHING),
        (Facts(there=True, ready=True), Move.NOTHING),
        (Facts(there=True, ready=True, started=True), Move.WATCH),
        (Facts(there=True, ready=True, started=True, killed=True), Move.WATCH),
        (Facts(there=True, ended=True), Move.TIDY),
    ],
)
def test_every_state_has_its_next_move(facts: Facts, wanted: Move) -> None:
    assert move(facts) is wanted


class World:
    """Sandboxes as facts; every call is noted and moves them on."""

    def __init__(self, facts: Facts, folder: Path, *, fails: int = 0, error: Exception | None = None) -> None:
        self.now, self.folder, self.fails = facts, folder, fails
        self.tidying: Callable[[], object] = lambda: None
        self.error = error or Unreachable("no answer")
        self.calls: list[str] = []
        self.phase = Phase.EXITED
        self.over = asyncio.Event()
        self.swept = asyncio.Event()

    async def _did(self, call: str, **changed: bool) -> None:
        await asyncio.sleep(0)
        self.calls.append(call)
        if self.fails:
            self.fails -= 1
            raise self.error
        self.now = Facts(**{**vars(self.now), **changed})

    async def facts(self, name: str) -> Facts:
        return self.now

    async def ready(self, name: str) -> None:
        await self._did("ready", ready=True)

    async def go(self, name: str) -> None:
        await self._did("go", started=True)

    async def watch(self, name: str, seconds: float) -> Phase:
        await self._did("watch")
        if not self.now.driven:
            self.over.set()
        return self.phase

    async def collect(self, name: str) -> None:
        await self._did("collect", ended=True)

    async def tidy(self, name: str) -> None:
        await self._did("tidy")
        self.over.set()
        tidying, self.tidying = self.tidying, lambda: None
        tidying()

    def claim(self, name: str) -> int | None:
        return files.lock(self.folder / "driven.json")

    async def unfinished(self) -> tuple[str, ...]:
        return ("t",)

    async def sweep(self) -> None:
        self.calls.append("sweep")
        self.swept.set()


@asynccontextmanager
async def supervised(world: World, folder: Path) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(world, folder)
    supervisor.open()
    try:
        yield supervisor
    finally:
        await supervisor.close()


async def soon(event: asyncio.Event) -> None:
    async with asyncio.timeout(BOUND):
        await event.wait()


async def test_what_is_unfinished_is_taken_up_at_the_opening_and_driven_to_its_end(tmp_path: Path) -> None:
    world = World(DRIVEN, tmp_path)
    async with supervised(world, tmp_path):
        await soon(world.over)
        await soon(world.swept)
    assert [call for call in world.calls if call != "sweep"] == ["ready", "go", "watch", "collect", "tidy"]


async def test_a_task_of_somebody_elses_is_watched_and_no_more(tmp_path: Path) -> None:
    world = World(Facts(there=True, ready=True, started=True), tmp_path)
    async with supervised(world, tmp_path):
        await soon(world.over)
        await soon(world.swept)
    assert [call for call in world.calls if call != "sweep"] == ["watch"]


async def test_a_start_that_was_written_down_and_not_done_is_done(tmp_path: Path) -> None:
    world = World(Facts(there=True, driven=True, ready=True, started=True), tmp_path)
    world.phase = Phase.READY
    async with supervised(world, tmp_path) as supervisor:
        supervisor.take("t")
        async with asyncio.timeout(BOUND):
            while "go" not in world.calls:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        world.phase = Phase.EXITED
        await soon(world.over)


@pytest.mark.parametrize("error", [Unreachable("no answer"), OSError("disk"), RuntimeError("a bug")])
async def test_what_fails_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervise, "AGAIN_SECONDS", 0.01)
    world = World(DRIVEN, tmp_path, fails=3, error=error)
    with caplog.at_level(logging.WARNING):
        async with supervised(world, tmp_path):
            await soon(world.over)
    assert world.calls.count("ready") == 4
    assert str(error) in caplog.text


async def test_one_process_drives_and_another_goes_on_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(supervise, "AGAIN_SECONDS", 0.01)
    first, second = World(DRIVEN, tmp_path, fails=10**6), World(DRIVEN, tmp_path)
    async with supervised(first, tmp_path) as one, supervised(second, tmp_path):
        async with asyncio.timeout(BOUND):
            while first.calls.count("ready") < 5:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert second.calls == []
        await one.close()
        await soon(second.over)


async def test_what_begins_while_the_former_one_is_tidied_is_seen_to(tmp_path: Path) -> None:
    world = World(Facts(there=True, driven=True, ended=True), tmp_path)
    async with supervised(world, tmp_path) as supervisor:
        world.tidying = lambda: (setattr(world, "now", DRIVEN), supervisor.take("t"))  # type: ignore[func-returns-value]
        await soon(world.over)
        world.over.clear()
        await soon(world.over)
    assert [call for call in world.calls if call != "sweep"][1:] == ["ready", "go", "watch", "collect", "tidy"]


async def test_closing_leaves_nothing_at_work(tmp_path: Path) -> None:
    world = World(DRIVEN, tmp_path, fails=10**6)
    async with supervised(world, tmp_path) as supervisor:
        supervisor.take("t")
        supervisor.take("t")
        await asyncio.sleep(0)
    names: Callable[[], list[str]] = lambda: [task.get_name() for task in asyncio.all_tasks()]  # noqa: E731
    assert [name for name in names() if name.startswith(("drive", "supervisor"))] == []
