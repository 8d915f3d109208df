"""kill -9 of the process at any call of the engine: a new one goes on, and nothing is left in the end (S22, B94)."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from sandbox import Handle, Phase, Secrets, State
from sandbox.state import StateDir
from tests.sandbox.test_service import BOUND, SMALL, Bench, bench, until
from tests.scripted import GOOD

__all__ = ["bench"]

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
# Which call of the engine never happens. A preparation makes 32: volumes to 8, first containers to 14, devices to 20,
# the fetch to 30; the others about 12 and 17.
PREPARE = [20]
OUTCOME = [8]
REMOVE = [10]
# Of a workspace: a fetch makes about 32 calls, a driven task 30, a snapshot 8, a copy 12.
FETCH = [20]
TASK = [14]
SNAPSHOT = [5]
COPY = [9]
SLOW = {
    "prepare": [2, 8, 14, 27, 31],
    "outcome": [1, 4, 11],
    "remove": [2, 6, 14],
    "fetch": [2, 8, 27],
    "task": [2, 6, 10, 18, 22],
    "snapshot": [2, 7],
    "copy": [4, 7],
}


def at(quick: list[int], what: str) -> list[object]:
    """Some of the points in every run, the others in the long one."""
    return [*quick, *(pytest.param(nth, marks=pytest.mark.slow) for nth in SLOW[what])]


async def killed(bench: Bench, folder: Path, what: str, nth: int) -> bool:
    """Run the victim; True where it was killed, False where it had ended before."""
    (folder / "job.json").write_text(bench.job().model_dump_json())
    (folder / "settings.json").write_text(bench.settings.model_dump_json())
    key = bench.settings.gateway.key.get_secret_value()
    victim = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.sandbox.victim", str(nth), what),
        *(str(folder / "job.json"), str(folder / "settings.json"), key, GOOD),
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )
    async with asyncio.timeout(BOUND):
        return await victim.wait() == -9


@pytest.mark.parametrize("nth", at(PREPARE, "prepare"))
async def test_s22_killed_while_it_prepares(bench: Bench, tmp_path: Path, nth: int) -> None:
    assert await killed(bench, tmp_path, "prepare", nth)
    async with bench.service() as service:
        assert (await service.status(bench.handle)).phase in {Phase.PREPARING, Phase.ABSENT}
        await service.prepare(bench.job(), Secrets())
        await service.start(bench.handle)
        assert (await bench.ended(service)).state is State.SUCCEEDED


@pytest.mark.parametrize("nth", [pytest.param(8, marks=pytest.mark.slow), 20])
async def test_s22_killed_while_it_prepares_and_given_up(bench: Bench, tmp_path: Path, nth: int) -> None:
    """Whatever was half-made is found by name, and removed."""
    assert await killed(bench, tmp_path, "prepare", nth)
    async with bench.service() as service:
        assert await service.handles() == (bench.handle,)
        assert (await service.outcome(bench.handle)).state is not State.SUCCEEDED
        await service.remove(bench.handle)
        assert await service.handles() == ()


@pytest.mark.parametrize("nth", at(OUTCOME, "outcome"))
async def test_s22_killed_while_it_collects(bench: Bench, tmp_path: Path, nth: int) -> None:
    async with bench.service() as service:
        await bench.started(service)
        await service.wait(bench.handle, BOUND)
    assert await killed(bench, tmp_path, "outcome", nth)
    async with bench.service() as service:
        assert (await service.status(bench.handle)).phase is Phase.EXITED
        outcome = await service.outcome(bench.handle)
        assert outcome.state is State.SUCCEEDED
        assert outcome.changes is not None
        assert len(outcome.changes.files) == 2


@pytest.mark.parametrize("nth", at(REMOVE, "remove"))
async def test_s22_killed_while_it_removes(bench: Bench, tmp_path: Path, nth: int) -> None:
    async with bench.service() as service:
        await service.prepare(bench.job(), Secrets())
    assert await killed(bench, tmp_path, "remove", nth)
    async with bench.service() as service:
        assert await service.handles() == (bench.handle,)
        await service.remove(bench.handle)
        assert await service.handles() == ()


@pytest.mark.parametrize("nth", at(FETCH, "fetch"))
async def test_s22_killed_while_it_fetches(bench: Bench, tmp_path: Path, nth: int) -> None:
    """Half a workspace is none: the next fetch starts afresh."""
    assert await killed(bench, tmp_path, "fetch", nth)
    async with bench.service() as service:
        assert (await service.status(bench.handle)).phase in {Phase.PREPARING, Phase.ABSENT}
        await service.fetch(bench.handle, bench.source, Secrets(), SMALL)
        assert (await service.diff(bench.handle)).files == ()


@pytest.mark.parametrize("nth", at(TASK, "task"))
async def test_s22_killed_while_it_drives_a_task(bench: Bench, tmp_path: Path, nth: int) -> None:
    """Nobody asks: the next service goes on by itself, wherever the killed one was."""
    async with bench.service() as service:
        await service.fetch(bench.handle, bench.source, Secrets(), SMALL)
    assert await killed(bench, tmp_path, "task", nth)
    task = StateDir(bench.settings.state_dir).of(bench.handle.name).task()
    async with bench.service():
        await until(task.ended)
    outcome = task.outcome()
    assert outcome is not None
    assert outcome.state is State.SUCCEEDED, outcome
    assert outcome.changes is not None
    assert len(outcome.changes.files) == 2


@pytest.mark.parametrize("what", ["snapshot", "copy"])
@pytest.mark.parametrize("nth", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
async def test_s22_killed_while_it_saves_or_copies(bench: Bench, tmp_path: Path, what: str, nth: int) -> None:
    """What was saved before counts until the new one is whole; half a copy is none."""
    other = Handle(name=f"{bench.handle.name}-copy")
    at = [*(SNAPSHOT if what == "snapshot" else COPY), *SLOW[what]][nth]
    async with bench.service() as service:
        try:
            await bench.run_with(service, "x")
            before = await service.diff(bench.handle)
            first = await service.snapshot(bench.handle)
            await service._supervisor.close()
            assert await killed(bench, tmp_path, what, at)
            saved = StateDir(bench.settings.state_dir).of(bench.handle.name).snapshot()
            assert saved is not None
            assert saved.id == first.id or what == "snapshot"
            await service.copy(other, bench.handle)
            assert await service.diff(other) == before
            assert (await service.snapshot(bench.handle)).id != first.id
        finally:
            await service.remove(other)
