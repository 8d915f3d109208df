"""Lost is not failed: every way in which a running task can be taken away by its machine, and what is left of it.

Each on an engine of its own, with an agent at work. Afterwards the files are there, the diff can be read, and the next
task works on them. By hand on the shared engine: tests/sandbox/test_service.py.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sandbox import Gateway, Job, Outcome, Phase, Reason, Secrets, State, Unreachable
from sandbox.service import Service
from tests.engine import Images
from tests.local_sandbox import KEY, bundle, settings_for
from tests.private_engine import PrivateEngine, private_engine
from tests.sandbox.test_service import BOUND, FILES, SMALL, Bench, another_boot

__all__ = ["private_engine"]

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    # docker's own client leaks the sockets that an engine which is down did not answer
    pytest.mark.filterwarnings("ignore:.*unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PROMPTED = "bash -s; exit 7"
WORK = "echo half > half.txt; echo at work; while [ ! -e go ]; do sleep 0.1; done; echo whole > whole.txt"
Blow = Callable[[PrivateEngine, Bench], None]


def restart(engine: PrivateEngine, bench: Bench) -> None:
    engine.stop()
    engine.start()


def kill(engine: PrivateEngine, bench: Bench) -> None:
    engine.kill()
    engine.start()


def power(engine: PrivateEngine, bench: Bench) -> None:
    engine.power_loss()
    engine.boot()


def reboot(engine: PrivateEngine, bench: Bench) -> None:
    """Another boot: nothing is mounted, and no loop device is attached."""
    engine.power_loss()
    for device in devices(engine):
        subprocess.run(["losetup", "-d", device], check=True)
    another_boot(bench)
    engine.boot()


def devices(engine: PrivateEngine) -> list[str]:
    """Loop devices whose file is in this engine's folder."""
    files = Path("/sys/block").glob("loop*/loop/backing_file")
    return [f"/dev/{file.parts[3]}" for file in files if engine.folder.name in file.read_text()]


def docker_kill(engine: PrivateEngine, bench: Bench) -> None:
    with engine.client() as client:
        client.api.kill(bench.container("agent"))


def docker_remove(engine: PrivateEngine, bench: Bench) -> None:
    with engine.client() as client:
        client.api.remove_container(bench.container("agent"), force=True)


@pytest.fixture
async def bench(private_engine: PrivateEngine, images: Images, tmp_path: Path) -> AsyncIterator[Bench]:
    settings = settings_for(private_engine.url, images.prefix, "lost", tmp_path / "state")
    gateway = Gateway(base_url="http://host.docker.internal:9", key=KEY, private=True, host_gateway=True)
    made = Bench(settings.model_copy(update={"gateway": gateway}), bundle(tmp_path, FILES))
    try:
        yield made
        async with made.service(PROMPTED) as service:
            await service.remove(made.handle)
            assert await service.handles() == ()
        assert devices(private_engine) == []
    finally:
        private_engine.power_loss()
        gc.collect()  # here, where what is leaked is known


def job(bench: Bench, script: str) -> Job:
    return Job(name=bench.handle.name, prompt=script, source=None, limits=SMALL)


async def at_work(bench: Bench, engine: PrivateEngine, service: Service) -> None:
    await service.fetch(bench.handle, bench.source, Secrets(), SMALL)
    await service.begin(job(bench, WORK))
    with engine.client() as client:
        async with asyncio.timeout(BOUND):
            while (await service.status(bench.handle)).phase is not Phase.RUNNING:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            while b"at work" not in client.api.logs(bench.container("agent")):  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def over(bench: Bench, service: Service) -> Outcome:
    async with asyncio.timeout(BOUND):
        while True:
            try:
                if (await service.wait(bench.handle, 5)).phase is Phase.EXITED:
                    return await service.outcome(bench.handle)
            except Unreachable:  # the engine is on its way up
                await asyncio.sleep(0.1)


@pytest.mark.parametrize("blow", [docker_kill, docker_remove, restart, kill, power, reboot])
@pytest.mark.parametrize("service_too", [False, True], ids=["the service lives on", "the service is new"])
async def test_lost(bench: Bench, private_engine: PrivateEngine, blow: Blow, service_too: bool) -> None:
    private_engine.boot()
    async with bench.service(PROMPTED) as service:
        await at_work(bench, private_engine, service)
        if not service_too:
            blow(private_engine, bench)
            await lost_and_worked_on(bench, service)
    if service_too:
        blow(private_engine, bench)
        async with bench.service(PROMPTED) as service:
            await lost_and_worked_on(bench, service)


async def lost_and_worked_on(bench: Bench, service: Service) -> None:
    outcome = await over(bench, service)
    assert (outcome.state, outcome.reason) == (State.LOST, Reason.LOST), outcome
    assert outcome.changes is not None, outcome.notes
    assert outcome.changes.patch is not None
    assert b"+half" in outcome.changes.patch
    assert await service.diff(bench.handle) == outcome.changes
    await service.begin(job(bench, "cat half.txt > more.txt"))
    after = await over(bench, service)
    assert (after.reason, after.exit_code) == (Reason.EXIT, 7), after
    assert after.changes is not None
    assert [file.path for file in after.changes.files] == ["half.txt", "more.txt"]


@pytest.mark.parametrize("blow", ["stop", "kill"])
async def test_with_live_restore_a_task_outlives_its_engine(
    bench: Bench, private_engine: PrivateEngine, blow: str
) -> None:
    """And an engine that does not answer meanwhile says nothing about the task."""
    private_engine.boot(live_restore=True)
    async with bench.service(PROMPTED) as service:
        await at_work(bench, private_engine, service)
        getattr(private_engine, blow)()
        with pytest.raises(Unreachable):
            await service.status(bench.handle)
        with pytest.raises(Unreachable):
            await service.outcome(bench.handle)
        private_engine.start(live_restore=True)
        assert (await service.status(bench.handle)).phase is Phase.RUNNING
        go(private_engine, bench)
        outcome = await over(bench, service)
        assert (outcome.state, outcome.reason, outcome.exit_code) == (State.FAILED, Reason.EXIT, 7)
        assert outcome.changes is not None
        assert [file.path for file in outcome.changes.files] == ["go", "half.txt", "whole.txt"]
    # Engines before 23 miscount the mounts of what outlived them ("volume has active mounts"), until they start again.
    private_engine.stop()
    private_engine.start()


def go(engine: PrivateEngine, bench: Bench) -> None:
    """Let the agent come to its end."""
    with engine.client() as client:
        made = client.api.exec_create(bench.container("agent"), ["touch", "/ws/repo/go"])
        client.api.exec_start(made["Id"])
