"""Sandboxes that outlive a task, on the real engine: a second task on what the first left, diff, snapshot, copy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import docker
import pytest

from sandbox import (
    Busy,
    Changes,
    Handle,
    Job,
    NotThere,
    Outcome,
    Phase,
    PrepareFailed,
    Reason,
    Secrets,
    Source,
    State,
    Status,
)
from sandbox.background import spawn
from sandbox.service import Service
from sandbox.state import StateDir
from tests.engine import store
from tests.sandbox.test_service import BOUND, SMALL, Bench, another_boot, bench, until
from tests.scripted import ASK, SAY_DONE

__all__ = ["bench"]

pytestmark = pytest.mark.engine

# The prompt is a script: one service runs a different one in each task.
PROMPTED = f"bash -s; {ASK} || exit 9; {SAY_DONE}"


def job(bench: Bench, script: str) -> Job:
    return Job(name=bench.handle.name, prompt=script, source=None, limits=SMALL)


async def fetched(bench: Bench, service: Service) -> None:
    answer = await service.fetch(bench.handle, bench.source, Secrets(), SMALL)
    assert answer.words.startswith("Cloning into "), "through a mirror too, where git itself says nothing"


async def did(bench: Bench, service: Service, script: str) -> Outcome:
    """One task that the service drives, and its outcome."""
    await service.begin(job(bench, script))
    return await over(bench, service)


async def over(bench: Bench, service: Service) -> Outcome:
    async with asyncio.timeout(BOUND):
        while (await service.wait(bench.handle, 30)).phase is not Phase.EXITED:
            pass
        return await service.outcome(bench.handle)


def text(changes: Changes | None) -> str:
    assert changes is not None
    return (changes.patch or b"").decode()


async def quiet(bench: Bench, client: docker.DockerClient) -> None:
    """Wait until no container of the sandbox is left."""
    wanted = [f"gofer.instance={bench.settings.instance}", f"gofer.sandbox={bench.handle.name}"]
    async with asyncio.timeout(BOUND):
        while client.api.containers(all=True, filters={"label": wanted}):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.fixture
async def copies(bench: Bench) -> AsyncIterator[list[Handle]]:
    """Names for other sandboxes; whatever is put here is removed."""
    made: list[Handle] = []
    yield made
    async with bench.service(PROMPTED) as service:
        for handle in made:
            await service.remove(handle)


async def test_a_second_task_works_on_what_the_first_left(bench: Bench, docker_client: docker.DockerClient) -> None:
    async with bench.service(PROMPTED) as service:
        with pytest.raises(NotThere, match="no repository"):
            await service.begin(job(bench, "true"))
        with pytest.raises(NotThere, match="no repository"):
            await service.diff(bench.handle)
        await fetched(bench, service)
        await quiet(bench, docker_client)
        assert (await service.status(bench.handle)).phase is Phase.ABSENT
        assert text(await service.diff(bench.handle)) == ""
        first = await did(
            bench, service, "echo one > one.txt; git add -A; git -c user.name=x -c user.email=x@x commit -qm x"
        )
        assert (first.state, first.error) == (State.SUCCEEDED, "")
        await quiet(bench, docker_client)
        second = await did(bench, service, "cat one.txt > two.txt; rm a.txt")
        assert second.state is State.SUCCEEDED
        assert second.changes is not None
        assert [file.path for file in second.changes.files] == ["a.txt", "one.txt", "two.txt"]
        assert await service.diff(bench.handle) == second.changes
        await quiet(bench, docker_client)
        wanted = {"label": f"gofer.sandbox={bench.handle.name}"}
        await until(
            lambda: (
                sorted(
                    volume["Labels"]["gofer.role"] for volume in docker_client.api.volumes(filters=wanted)["Volumes"]
                )
                == ["clean", "ws"]
            )
        )


async def test_begun_and_forgotten_it_is_seen_to_its_end(bench: Bench) -> None:
    """Nobody asks after it but the service itself; another one goes on where the first was closed."""
    async with bench.service(PROMPTED) as first:
        await fetched(bench, first)
        await first.begin(job(bench, "echo x > x"))
    task = StateDir(bench.settings.state_dir).of(bench.handle.name).task()
    async with bench.service(PROMPTED):
        async with asyncio.timeout(BOUND):
            while not task.ended():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    outcome = task.outcome()
    assert outcome is not None
    assert (outcome.state, "+x" in text(outcome.changes)) == (State.SUCCEEDED, True)


async def test_a_deadline_is_kept_whoever_asks(bench: Bench) -> None:
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
        await service.begin(job(bench, "sleep 1000"))
        state = StateDir(bench.settings.state_dir).of(bench.handle.name)
        async with asyncio.timeout(BOUND):
            while state.task().started() is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            bench.offset = 2.0 * SMALL.wall_seconds
            while not state.task().ended():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    outcome = state.task().outcome()
    assert outcome is not None
    assert outcome.reason is Reason.DEADLINE


async def test_a_task_that_another_prepared_is_kept_to_its_deadline_too(bench: Bench) -> None:
    """As the bot's while the bot is away: ended in time, and left for it to collect."""
    async with bench.service("sleep 1000") as service:
        await bench.started(service)
        bench.offset = 2.0 * SMALL.wall_seconds
        task = StateDir(bench.settings.state_dir).of(bench.handle.name).task()
        async with asyncio.timeout(BOUND):
            while task.killed() is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert not task.ended()
        assert (await service.outcome(bench.handle)).reason is Reason.DEADLINE


async def test_of_two_that_begin_at_once_one_wins(bench: Bench) -> None:
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
        answers = await asyncio.gather(
            *(service.begin(job(bench, f"echo {number} > won")) for number in range(8)), return_exceptions=True
        )
        assert sorted(type(answer).__name__ for answer in answers) == ["Busy"] * 7 + ["NoneType"]
        with pytest.raises(Busy):
            await service.fetch(bench.handle, bench.source, Secrets(), SMALL)
        with pytest.raises(Busy):
            await service.diff(bench.handle)
        with pytest.raises(Busy):
            await service.snapshot(bench.handle)
        with pytest.raises(Busy):
            await service.prepare(job(bench, "true"), Secrets())
        outcome = await over(bench, service)
        assert f"+{answers.index(None)}" in text(outcome.changes)


async def test_what_nobody_could_fetch_changes_nothing(bench: Bench) -> None:
    mistyped = bench.source.model_copy(update={"ref": "feature one"})
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
        await did(bench, service, "echo work > work.txt")
        with pytest.raises(PrepareFailed, match="'feature one' is not a name"):
            await service.fetch(bench.handle, mistyped, Secrets(), SMALL)
        assert "+work" in text(await service.diff(bench.handle))


async def test_a_second_fetch_replaces_the_workspace_and_while_it_fetches_nobody_begins(
    bench: Bench, tmp_path: Path
) -> None:
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
        await did(bench, service, "echo old > old.txt")
        fetching = spawn(fetched(bench, service), name="fetch")
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="being fetched"):
            await service.begin(job(bench, "true"))
        with pytest.raises(Busy, match="being fetched"):
            await fetched(bench, service)
        await fetching
        assert text(await service.diff(bench.handle)) == ""
        assert (await service.status(bench.handle)).phase is Phase.ABSENT
        with pytest.raises(PrepareFailed, match="OWNER/REPO"):
            await service.fetch(bench.handle, Source(url="https://evil.example/o/r"), Secrets(), SMALL)
        assert text(await service.diff(bench.handle)) == "", "what may not be fetched changes nothing"
        with pytest.raises(PrepareFailed):
            await service.fetch(bench.handle, Source(url="https://github.com/o/r", bundle=b"no"), Secrets(), SMALL)
        with pytest.raises(NotThere):
            await service.begin(job(bench, "true"))


async def test_what_the_operator_does_not_offer_is_refused_in_words(bench: Bench) -> None:
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
        with pytest.raises(PrepareFailed, match="codex is not offered"):
            await service.begin(job(bench, "true").model_copy(update={"agent": "codex"}))
        with pytest.raises(PrepareFailed, match="model 'other' is not offered"):
            await service.begin(job(bench, "true").model_copy(update={"model": "other"}))
        assert (await service.status(bench.handle)).phase is Phase.ABSENT


async def test_a_cancelled_task_is_collected_and_the_next_goes_on(
    bench: Bench, docker_client: docker.DockerClient
) -> None:
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
        await service.begin(job(bench, "echo half > half; echo at work; sleep 1000"))
        events = [status.phase async for status in _cancelling(bench, service, docker_client)]
        assert events[-1] is Phase.EXITED
        outcome = await over(bench, service)
        assert (outcome.reason, "+half" in text(outcome.changes)) == (Reason.CANCELLED, True)
        second = await did(bench, service, "echo done >> half")
        assert second.state is State.SUCCEEDED, second
        assert "+half\n+done" in text(await service.diff(bench.handle))


async def test_what_is_left_of_a_task_is_not_taken_for_the_next_one_s(bench: Bench) -> None:
    """Their containers share a name, and the next may begin before the first one's are removed."""
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
        await service.prepare(job(bench, "echo one > one"), Secrets())
        await service.start(bench.handle)
        while (await service.wait(bench.handle, 5)).phase is Phase.RUNNING:
            pass
        first = await service._life.outcome(bench.handle.name)
        await service._life.record(job(bench, "echo two > two"), driven=True)
        assert (await service.status(bench.handle)).phase is Phase.PREPARING
        assert await service.ended(bench.handle) is None
        await service.cancel(bench.handle, Reason.CANCELLED)
        assert (await service.status(bench.handle)).phase is Phase.EXITED
        second = await service.ended(bench.handle)
        assert second is not None
        assert (second.reason, second.reply, second.exit_code) == (Reason.CANCELLED, "", None)
        assert second.changes == first.changes
        third = await did(bench, service, "cat one > three")
        assert third.state is State.SUCCEEDED, third
        assert third.changes is not None
        assert [file.path for file in third.changes.files] == ["one", "three"]


async def _cancelling(bench: Bench, service: Service, client: docker.DockerClient) -> AsyncIterator[Status]:
    async for status in service.events(bench.handle):
        if status.phase is Phase.RUNNING:
            await until(lambda: b"at work" in client.api.logs(bench.container("agent")))
            await service.cancel(bench.handle, Reason.CANCELLED)
        yield status


async def test_a_caller_prepares_the_next_task_too(bench: Bench) -> None:
    async with bench.service(PROMPTED) as service:
        await bench.run_with(service, "echo 1 > 1")
        for number in (2, 3):
            await service.prepare(job(bench, f"echo {number} > {number}"), Secrets())
            await service.prepare(job(bench, f"echo {number} > {number}"), Secrets())
            await service.start(bench.handle)
            outcome = await bench.ended(service)
        assert outcome.changes is not None
        assert [file.path for file in outcome.changes.files] == ["1", "2", "3"]


async def test_after_another_boot_the_next_task_finds_the_files(bench: Bench) -> None:
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
        await did(bench, service, "echo one > one.txt")
        another_boot(bench)
        assert (await did(bench, service, "cat one.txt > two.txt")).state is State.SUCCEEDED
        another_boot(bench)
        assert "+++ b/two.txt" in text(await service.diff(bench.handle))


async def test_a_snapshot_is_copied_and_both_go_their_own_way(bench: Bench, copies: list[Handle]) -> None:
    other = Handle(name=f"{bench.handle.name}-copy")
    copies.append(other)
    async with bench.service(PROMPTED) as service:
        with pytest.raises(NotThere):
            await service.snapshot(bench.handle)
        await fetched(bench, service)
        with pytest.raises(NotThere, match="no snapshot"):
            await service.copy(other, bench.handle)
        await did(bench, service, "echo one > one.txt")
        saved = await service.snapshot(bench.handle)
        assert 0 < saved.size < 8 << 20
        await did(bench, service, "rm one.txt")
        await service.copy(other, bench.handle)
        assert "+one" in text(await service.diff(other))
        assert text(await service.diff(bench.handle)) == ""
        with pytest.raises(Busy, match="already"):
            await service.copy(other, bench.handle)
        theirs = StateDir(bench.settings.state_dir).of(other.name).workspace()
        mine = StateDir(bench.settings.state_dir).of(bench.handle.name).workspace()
        assert theirs is not None
        assert mine is not None
        assert (theirs.id != mine.id, theirs.base_commit) == (True, mine.base_commit)
        await service.begin(Job(name=other.name, prompt="echo two >> one.txt", source=None, limits=SMALL))
        async with asyncio.timeout(BOUND):
            while (await service.wait(other, 30)).phase is not Phase.EXITED:
                pass
        assert "+one\n+two" in text((await service.outcome(other)).changes)
        newer = await service.snapshot(bench.handle)
        assert newer.id != saved.id


async def test_a_snapshot_that_is_gone_or_damaged_is_an_error_and_no_empty_workspace(
    bench: Bench, docker_client: docker.DockerClient
) -> None:
    other = Handle(name=f"{bench.handle.name}-copy")
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
        saved = await service.snapshot(bench.handle)
        await fetched(bench, service)  # a snapshot outlives another fetch
        store(docker_client, bench.settings.instance, "drop", bench.handle.name, "0" * 16)
        with pytest.raises(NotThere, match="could not be restored"):
            await service.copy(other, bench.handle)
        assert await service.handles() == (bench.handle,)
        assert (await service.snapshot(bench.handle)).id != saved.id
        await service.remove(bench.handle)
        with pytest.raises(NotThere):
            await service.copy(other, bench.handle)
        assert await service.handles() == ()


async def test_what_is_not_used_for_long_is_removed_and_what_runs_is_not(
    bench: Bench, docker_client: docker.DockerClient
) -> None:
    bench.settings = bench.settings.model_copy(update={"retention_seconds": 1000})
    async with bench.service(PROMPTED) as service:
        await fetched(bench, service)
    bench.offset = 900.0
    async with bench.service(PROMPTED) as service:
        await asyncio.gather(service._supervisor._steps.sweep(), did(bench, service, "true"))
    bench.offset = 1800.0  # counted from the task's end
    async with bench.service("sleep 1000") as service:
        await service._supervisor._steps.sweep()
        assert await service.handles() == (bench.handle,)
        await service.begin(
            job(bench, "x").model_copy(update={"limits": SMALL.model_copy(update={"wall_seconds": 10**6})})
        )
        async with asyncio.timeout(BOUND):
            while (await service.status(bench.handle)).phase is not Phase.RUNNING:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        bench.offset = 1e5
        await service._supervisor._steps.sweep()
        assert (await service.status(bench.handle)).phase is Phase.RUNNING
        await service.cancel(bench.handle, Reason.CANCELLED)
        await over(bench, service)
        await quiet(bench, docker_client)
        async with asyncio.timeout(BOUND):
            while await service.handles():  # the supervisor may have dated the task's end only now
                bench.offset += 1e5
                await service._supervisor._steps.sweep()


async def test_workspaces_lie_where_the_operator_says(bench: Bench, tmp_path: Path) -> None:
    before, folder = bench.settings, tmp_path / "store"
    named = {"instance": f"{before.instance}-s", "store_dir": folder}
    bench.settings = before.model_copy(update=named)
    try:
        with pytest.raises(RuntimeError, match="must be a folder that is there"):
            async with bench.service(PROMPTED):
                pass
        folder.mkdir()
        async with bench.service(PROMPTED) as service:
            await fetched(bench, service)
            saved = await service.snapshot(bench.handle)
            files = sorted(
                path.name.replace(bench.handle.name, "NAME") for path in folder.glob("*.*") if path.is_file()
            )
            assert files == sorted(
                [".store", "NAME.clean.img", f"NAME.clean.{saved.id}.snap", "NAME.ws.img", f"NAME.ws.{saved.id}.snap"]
            )
            assert saved.size == sum(path.stat().st_blocks * 512 for path in folder.glob("*.snap"))
        bench.settings = bench.settings.model_copy(update={"store_dir": tmp_path})
        with pytest.raises(RuntimeError, match="remove all sandboxes first"):
            async with bench.service(PROMPTED):
                pass
        bench.settings = before.model_copy(update=named)
        async with bench.service(PROMPTED) as service:
            await service.remove(bench.handle)
            await service.uninstall()
    finally:
        bench.settings = before
