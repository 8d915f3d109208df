"""kill -9 of the process at any call of the engine: a new one goes on, and nothing is left in the end (S22, B94)."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from sandbox import Phase, Secrets, State
from tests.sandbox.test_service import BOUND, Bench, bench
from tests.scripted import GOOD

__all__ = ["bench"]

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
# Which call of the engine never happens. A preparation makes 32: volumes to 8, first containers to 14, devices to 20,
# the fetch to 30; the others about 12 and 17.
PREPARE = [8, 20, 31]
OUTCOME = [1, 8]
REMOVE = [2, 10]
SLOW = {"prepare": [2, 14, 27], "outcome": [4, 11], "remove": [6, 14]}


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


@pytest.mark.parametrize("nth", [8, 20])
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
