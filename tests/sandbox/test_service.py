"""The life of a sandbox on the real engine, with scripts in the agent's place: every end, and every restart."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import docker
import pytest

from sandbox import (
    Gateway,
    Handle,
    Job,
    Limits,
    Outcome,
    Phase,
    PrepareFailed,
    Reason,
    Secrets,
    Settings,
    Source,
    State,
    Unreachable,
    open_sandbox,
)
from sandbox.background import spawn
from sandbox.service import Service, open_local
from sandbox.state import Killed, Ready, StateDir
from sandbox.verdict import Kill
from sandbox.watch import GRACE_SECONDS
from tests.engine import Images
from tests.local_sandbox import bundle, local_sandbox, settings_for
from tests.scripted import ASK, GOOD, SAY_DONE, agents, loop_files
from tests.valve import Valve

pytestmark = pytest.mark.engine

BOUND = 90.0
FILES = {"a.txt": b"one\n", "lib/b.txt": b"two\n"}
SMALL = Limits(wall_seconds=60, memory_bytes=256 * 2**20, workspace_bytes=32 * 2**20, workspace_inodes=2_000)


class Bench:
    """One sandbox name, and as many services over it as a test restarts."""

    def __init__(self, settings: Settings, source: Source) -> None:
        self.settings, self.source = settings, source
        self.handle = Handle(name=f"t-{secrets.token_hex(4)}")
        self.offset = 0.0
        """Added to the clock, to be late without waiting."""

    def job(self, limits: Limits = SMALL, prompt: str = "do it", source: Source | None = None) -> Job:
        return Job(name=self.handle.name, prompt=prompt, source=source or self.source, limits=limits)

    @asynccontextmanager
    async def service(self, script: str = GOOD) -> AsyncIterator[Service]:
        opened = await open_local(self.settings, agents=agents(script), clock=lambda: time.time() + self.offset)
        try:
            yield opened
        finally:
            await opened.close()

    async def started(self, service: Service, limits: Limits = SMALL) -> None:
        await service.prepare(self.job(limits), Secrets())
        await service.start(self.handle)

    async def ended(self, service: Service) -> Outcome:
        async with asyncio.timeout(BOUND):
            while (await service.wait(self.handle, 5)).phase is Phase.RUNNING:
                pass
            return await service.outcome(self.handle)

    async def run(self, script: str, limits: Limits = SMALL) -> Outcome:
        async with self.service(script) as service:
            await self.started(service, limits)
            return await self.ended(service)

    async def run_with(self, service: Service, prompt: str) -> Outcome:
        await service.prepare(self.job(prompt=prompt), Secrets())
        await service.start(self.handle)
        return await self.ended(service)

    def container(self, role: str) -> str:
        return f"gofer-{self.settings.instance}-{self.handle.name}-{role}"


@pytest.fixture
async def bench(
    docker_client: docker.DockerClient, images: Images, engine_host: str, nothing_left_behind: str, tmp_path: Path
) -> AsyncIterator[Bench]:
    """Afterwards the sandbox is removed, and nothing of it may be left: no container, volume, device or file."""
    settings = settings_for(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")
    async with local_sandbox(docker_client, settings, agents=agents(GOOD)) as local:
        made = Bench(local.settings, bundle(tmp_path, FILES))
        yield made
        async with made.service() as service:
            await service.remove(made.handle)
            assert await service.handles() == ()
    assert loop_files(nothing_left_behind) == []
    assert list((tmp_path / "state").glob("sandboxes/*")) == []


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND):
        while not fact():  # noqa: ASYNC110 - a fact of another process
            await asyncio.sleep(0.05)


# --- one life -----------------------------------------------------------------------------------------------------


async def test_a_task_from_prepare_to_outcome(bench: Bench) -> None:
    async with bench.service() as service:
        assert (await service.status(bench.handle)).phase is Phase.ABSENT
        assert await service.prepare(bench.job(prompt='say "hi"\n$(id)'), Secrets()) == bench.handle
        assert (await service.status(bench.handle)).phase is Phase.READY
        assert await service.handles() == (bench.handle,)
        await service.start(bench.handle)
        outcome = await bench.ended(service)
        assert (outcome.state, outcome.reason, outcome.error) == (State.SUCCEEDED, Reason.OK, "")
        assert (outcome.reply, outcome.exit_code, outcome.model_requests) == ("All done.", 0, 1)
        assert (outcome.usage.turns, outcome.usage.cost_usd) == (1, 0.25)
        assert outcome.duration_seconds > 0
        assert outcome.changes is not None
        assert [file.path for file in outcome.changes.files] == ["asked.txt", "new file.txt"]
        assert b'+say "hi"\n+$(id)\n' in (outcome.changes.patch or b"")
        assert (await service.status(bench.handle)).phase is Phase.EXITED
    async with bench.service("exit 77") as again:
        assert await again.outcome(bench.handle) == outcome


async def test_every_call_may_be_repeated(bench: Bench) -> None:
    async with bench.service(f"{GOOD}; sleep 1000") as service:
        for _ in range(2):
            await service.prepare(bench.job(), Secrets())
            assert (await service.status(bench.handle)).phase is Phase.READY
        for _ in range(2):
            await service.start(bench.handle)
            await service.prepare(bench.job(), Secrets())
            assert (await service.status(bench.handle)).phase is Phase.RUNNING
        for _ in range(2):
            await service.cancel(bench.handle, Reason.CANCELLED)
        await service.cancel(bench.handle, Reason.DEADLINE)
        assert (await service.outcome(bench.handle)).reason is Reason.CANCELLED
        await service.start(bench.handle)
        assert (await service.status(bench.handle)).phase is Phase.EXITED
        for _ in range(2):
            await service.remove(bench.handle)
            assert await service.handles() == ()


async def test_two_callers_at_once_do_not_remove_each_others_work(bench: Bench) -> None:
    async with bench.service() as service:
        job = bench.job()
        assert await asyncio.gather(*(service.prepare(job, Secrets()) for _ in range(2))) == [bench.handle] * 2
        await asyncio.gather(*(service.start(bench.handle) for _ in range(2)))
        await service.wait(bench.handle, BOUND)
        one, other = await asyncio.gather(*(service.outcome(bench.handle) for _ in range(2)))
        assert one == other
        assert (one.state, len(patch(one)) > 0) == (State.SUCCEEDED, True)
        await asyncio.gather(*(service.remove(bench.handle) for _ in range(2)))
        assert await service.handles() == ()


async def test_a_removal_during_the_preparation_leaves_nothing(bench: Bench) -> None:
    async with bench.service() as service:
        preparing = spawn(service.prepare(bench.job(), Secrets()), name="prepare")
        async with asyncio.timeout(BOUND):
            while not await service.handles():  # noqa: ASYNC110 - a fact of the engine
                await asyncio.sleep(0.05)
        await service.remove(bench.handle)
        assert await preparing == bench.handle
        assert await service.handles() == ()


async def test_an_end_is_told_at_once(bench: Bench) -> None:
    async with bench.service(f"{ASK}; sleep 0.5; {SAY_DONE}") as service:
        await bench.started(service)
        async with asyncio.timeout(BOUND):
            assert (await service.wait(bench.handle, 2 * BOUND)).phase is Phase.EXITED


async def test_wait_returns_in_time_while_it_runs(bench: Bench) -> None:
    async with bench.service("sleep 1000") as service:
        await bench.started(service)
        status = await service.wait(bench.handle, 0.2)
        assert status.phase is Phase.RUNNING
        assert status.elapsed_seconds > 0
        await service.cancel(bench.handle, Reason.CANCELLED)


async def test_progress_is_told_while_it_runs(bench: Bench) -> None:
    line = (
        '{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t",'
        '"name":"Edit","input":{"file_path":"/ws/repo/a.txt"}}]}}'
    )
    async with bench.service(f"echo '{line}'; sleep 1000") as service:
        await bench.started(service)
        async with asyncio.timeout(BOUND):
            while not (status := await service.wait(bench.handle, 0.1)).progress.last_tool:
                assert status.phase is Phase.RUNNING
        assert status.progress.last_tool == "Edit"
        await service.cancel(bench.handle, Reason.CANCELLED)


async def test_two_sandboxes_at_once_do_not_meet(bench: Bench, tmp_path: Path) -> None:
    other = Bench(bench.settings, bundle(tmp_path, {"other.txt": b"three\n"}))
    async with bench.service(f"ls > seen.txt; {ASK}; {SAY_DONE}") as service:
        try:
            await asyncio.gather(bench.started(service), other.started(service))
            mine, theirs = await asyncio.gather(bench.ended(service), other.ended(service))
            assert await service.handles() == tuple(sorted((bench.handle, other.handle), key=lambda h: h.name))
        finally:
            await service.remove(other.handle)
    assert (mine.state, theirs.state) == (State.SUCCEEDED, State.SUCCEEDED)
    assert b"+a.txt" in patch(mine)
    assert b"+other.txt" in patch(theirs)
    assert b"other.txt" not in patch(mine)


@pytest.mark.slow
async def test_s13_a_flood_on_stdout_is_capped_on_the_host_and_read_in_bounds(
    bench: Bench, docker_client: docker.DockerClient
) -> None:
    # each of the two million lines takes some 70 bytes in the log: 140 MB without the cap
    async with bench.service(f"yes | head -c 4000000; echo; {ASK}; {SAY_DONE}") as service:
        await bench.started(service)
        while (await service.wait(bench.handle, BOUND)).phase is Phase.RUNNING:
            pass
        log = docker_client.api.inspect_container(bench.container("agent"))["LogPath"]
        kept = sum(file.stat().st_size for file in Path(log).parent.glob("*-json.log*"))
        outcome = await bench.ended(service)
    assert outcome.state is State.SUCCEEDED
    assert kept <= 4 * 17 * 10**6


# --- ends -----------------------------------------------------------------------------------------------------------


async def test_b92_s14_a_deadline_ends_what_traps_every_signal_and_leaves_children(
    bench: Bench, docker_client: docker.DockerClient
) -> None:
    script = (
        "echo work > work.txt; trap '' TERM INT HUP QUIT; (setsid sleep 1000 &); (setsid sleep 1000 &) & sleep 1000"
    )
    async with bench.service(script) as service:
        await bench.started(service)
        await until(lambda: sleeps(docker_client, bench) == 3)
        agent = docker_client.api.inspect_container(bench.container("agent"))["Id"]
        assert len(processes_of(agent)) >= 5
        bench.offset = SMALL.wall_seconds
        outcome = await bench.ended(service)
        assert (outcome.state, outcome.reason) == (State.FAILED, Reason.DEADLINE)
        assert "1 min" in outcome.error
        assert b"+work" in patch(outcome)
        assert processes_of(agent) == []


def sleeps(client: docker.DockerClient, bench: Bench) -> int:
    """How many of the script's own `sleep 1000` run in the agent's container."""
    processes = client.api.top(bench.container("agent"))["Processes"]
    return sum("sleep 1000" in " ".join(row) and "bash" not in " ".join(row) for row in processes)


def processes_of(container_id: str) -> list[str]:
    """Processes of this machine in the container's cgroup."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if container_id in (entry / "cgroup").read_text():
                found.append(entry.name)
        except OSError:  # it ended while we looked
            continue
    return found


def patch(outcome: Outcome) -> bytes:
    assert outcome.changes is not None, outcome.notes
    assert outcome.changes.patch is not None, outcome.changes.refusal
    return outcome.changes.patch


async def test_b91_a_child_that_holds_stdout_does_not_keep_the_task_alive(bench: Bench) -> None:
    outcome = await bench.run(f"{GOOD}; sleep 9999 & exit 0")
    assert (outcome.state, outcome.reason) == (State.SUCCEEDED, Reason.OK)


async def test_b91_b88_an_agent_that_stays_after_its_final_event_is_ended_and_has_not_succeeded(
    bench: Bench, docker_client: docker.DockerClient
) -> None:
    async with bench.service(f"{GOOD}; sleep 1000") as service:
        await bench.started(service)
        await until(lambda: b'"result"' in docker_client.api.logs(bench.container("agent")))
        status = await service.status(bench.handle)
        assert status.phase is Phase.RUNNING
        async with asyncio.timeout(BOUND):  # one look serves all who ask within a moment: await the next one
            while (await service.status(bench.handle)).elapsed_seconds == status.elapsed_seconds:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        bench.offset = GRACE_SECONDS + 1
        outcome = await bench.ended(service)
    assert (outcome.state, outcome.reason, outcome.exit_code) == (State.FAILED, Reason.EXIT, 137)
    assert "did not end by itself" in outcome.error
    assert b"+new" in patch(outcome)


async def test_a_cancelled_task_shows_its_work_so_far(bench: Bench, docker_client: docker.DockerClient) -> None:
    async with bench.service("echo half > half.txt; sleep 1000") as service:
        await bench.started(service)
        await until(lambda: sleeps(docker_client, bench) == 1)
        await service.cancel(bench.handle, Reason.CANCELLED)
        outcome = await service.outcome(bench.handle)
    assert (outcome.state, outcome.reason) == (State.FAILED, Reason.CANCELLED)
    assert b"+half" in patch(outcome)


async def test_a_ready_sandbox_that_is_cancelled_never_starts(bench: Bench) -> None:
    async with bench.service() as service:
        await service.prepare(bench.job(), Secrets())
        await service.cancel(bench.handle, Reason.CANCELLED)
        await service.start(bench.handle)
        outcome = await service.outcome(bench.handle)
    assert (outcome.reason, outcome.exit_code, patch(outcome)) == (Reason.CANCELLED, None, b"")


async def test_e28_a_dead_way_out_ends_the_task(bench: Bench, docker_client: docker.DockerClient) -> None:
    async with bench.service("sleep 1000") as service:
        await bench.started(service)
        docker_client.api.kill(bench.container("egress"))
        outcome = await bench.ended(service)
    assert (outcome.state, outcome.reason) == (State.FAILED, Reason.EGRESS_LOST)


async def test_e28_a_way_out_that_somebody_holds_still_ends_the_task(
    bench: Bench, docker_client: docker.DockerClient
) -> None:
    async with bench.service("sleep 1000") as service:
        await bench.started(service)
        docker_client.api.pause(bench.container("egress"))
        outcome = await bench.ended(service)
    assert (outcome.state, outcome.reason) == (State.FAILED, Reason.EGRESS_LOST)


async def test_e28_no_agent_starts_without_its_way_out(bench: Bench, docker_client: docker.DockerClient) -> None:
    async with bench.service() as service:
        await service.prepare(bench.job(), Secrets())
        docker_client.api.kill(bench.container("egress"))
        await service.start(bench.handle)
        outcome = await bench.ended(service)
    assert (outcome.reason, outcome.exit_code) == (Reason.EGRESS_LOST, None)


async def test_killed_by_someone_else_is_lost_and_the_work_is_read(
    bench: Bench, docker_client: docker.DockerClient
) -> None:
    async with bench.service("echo half > half.txt; sleep 1000") as service:
        await bench.started(service)
        await until(lambda: sleeps(docker_client, bench) == 1)
        docker_client.api.kill(bench.container("agent"))
        outcome = await bench.ended(service)
    assert (outcome.state, outcome.reason, outcome.exit_code) == (State.LOST, Reason.LOST, 137)
    assert b"+half" in patch(outcome)


@pytest.mark.parametrize("how", ["kill -9 -1", "kill -9 $PPID", "kill -TERM 1"])
async def test_g26_an_agent_that_ends_its_own_container_has_not_succeeded(bench: Bench, how: str) -> None:
    """Whatever it said before, and whoever is blamed for it: the engine shows the same as for a kill from outside."""
    outcome = await bench.run(f"{GOOD}; {how}; sleep 5; exit 0")
    assert outcome.state is not State.SUCCEEDED
    assert (outcome.state, "from inside" in outcome.error) == (State.LOST, True)
    assert b"+new" in patch(outcome)


async def test_a_container_that_was_removed_is_lost(bench: Bench, docker_client: docker.DockerClient) -> None:
    async with bench.service("sleep 1000") as service:
        await bench.started(service)
        docker_client.api.remove_container(bench.container("agent"), force=True)
        assert (await service.wait(bench.handle, BOUND)).phase is Phase.EXITED
        outcome = await service.outcome(bench.handle)
    assert (outcome.state, outcome.reason, outcome.exit_code) == (State.LOST, Reason.LOST, None)


async def test_a_sandbox_of_which_nothing_is_left_is_lost(bench: Bench) -> None:
    async with bench.service() as service:
        assert (await service.outcome(bench.handle)).state is State.LOST


async def test_s10_b97_a_memory_bomb_is_told_as_such(bench: Bench) -> None:
    outcome = await bench.run("exec python3 -c 'b = bytearray(4 << 28)'")
    assert (outcome.state, outcome.reason) == (State.FAILED, Reason.OUT_OF_MEMORY)


async def test_b97_a_child_killed_for_memory_is_a_note(bench: Bench) -> None:
    outcome = await bench.run(f"python3 -c 'b = bytearray(4 << 28)'; {GOOD}")
    assert (outcome.state, outcome.reason) == (State.SUCCEEDED, Reason.OK)
    assert any("memory" in note for note in outcome.notes)


async def test_s11_a_full_workspace_fails_its_task_with_that_reason(bench: Bench) -> None:
    outcome = await bench.run("dd if=/dev/zero of=big bs=1M count=100 || exit 4")
    assert (outcome.state, outcome.reason, outcome.exit_code) == (State.FAILED, Reason.DISK_FULL, 4)


async def test_s11_a_workspace_out_of_inodes_is_full_too(bench: Bench) -> None:
    outcome = await bench.run("mkdir f; for i in $(seq 5000); do : > f/$i || exit 5; done")
    assert (outcome.state, outcome.reason, outcome.exit_code) == (State.FAILED, Reason.DISK_FULL, 5)


async def test_an_exit_status_quotes_stderr(bench: Bench) -> None:
    outcome = await bench.run("echo 'no such option: --frob' >&2; exit 255")
    assert (outcome.state, outcome.reason, outcome.exit_code) == (State.FAILED, Reason.EXIT, 254)
    assert "no such option: --frob" in outcome.error


async def test_a_forged_success_without_the_model_is_none(bench: Bench) -> None:
    outcome = await bench.run(SAY_DONE)
    assert (outcome.state, outcome.reason, outcome.model_requests) == (State.FAILED, Reason.NO_MODEL_ANSWER, 0)


# --- preparations that fail -----------------------------------------------------------------------------------------


async def test_a_fetch_that_fails_tells_gits_words_and_leaves_nothing(bench: Bench) -> None:
    async with bench.service() as service:
        broken = Source(url="https://github.com/o/r", bundle=b"# v2 git bundle\nnonsense\n")
        with pytest.raises(PrepareFailed) as caught:
            await service.prepare(bench.job(source=broken), Secrets())
        assert caught.value.reason is Reason.FETCH_FAILED
        assert "bundle" in str(caught.value)
        assert (await service.status(bench.handle)).phase is Phase.ABSENT
        assert await service.handles() == ()
        await service.prepare(bench.job(), Secrets())


async def test_a_repository_of_another_host_is_refused_before_anything_is_made(bench: Bench) -> None:
    async with bench.service() as service:
        with pytest.raises(PrepareFailed, match=r"https://github\.com/OWNER/REPO") as caught:
            await service.prepare(bench.job(source=Source(url="https://evil.example/o/r")), Secrets())
        assert caught.value.reason is Reason.FETCH_FAILED


async def test_a_way_out_that_does_not_come_up_fails_the_preparation(bench: Bench) -> None:
    bench.settings = bench.settings.model_copy(update={"gateway": Gateway(base_url="http://model.example")})
    async with bench.service() as service:
        with pytest.raises(PrepareFailed) as caught:
            await service.prepare(bench.job(), Secrets())
        assert caught.value.reason is Reason.EGRESS_LOST


async def test_a_workspace_that_the_disk_cannot_hold_is_refused_in_words(bench: Bench) -> None:
    async with bench.service() as service:
        with pytest.raises(PrepareFailed, match="disk space") as caught:
            await service.prepare(bench.job(Limits(workspace_bytes=2**46)), Secrets())
        assert caught.value.reason is Reason.DISK_FULL


# --- restarts -------------------------------------------------------------------------------------------------------


async def test_b94_a_new_service_watches_a_running_task_on(bench: Bench) -> None:
    async with bench.service() as first:
        await first.prepare(bench.job(), Secrets())
    async with bench.service() as second:
        assert (await second.status(bench.handle)).phase is Phase.READY
        await second.start(bench.handle)
    async with bench.service() as third:
        assert await third.handles() == (bench.handle,)
        outcome = await bench.ended(third)
    assert outcome.state is State.SUCCEEDED


async def test_b94_a_task_that_ended_while_we_were_away_is_collected_before_its_deadline_counts(bench: Bench) -> None:
    async with bench.service() as first:
        await bench.started(first)
        await first.wait(bench.handle, BOUND)
    bench.offset = 10.0 * SMALL.wall_seconds
    async with bench.service() as second:
        outcome = await bench.ended(second)
    assert outcome.state is State.SUCCEEDED


async def test_a_kill_that_was_written_down_and_not_done_is_done_after_a_restart(bench: Bench) -> None:
    async with bench.service("sleep 1000") as first:
        await bench.started(first)
    state = StateDir(bench.settings.state_dir).of(bench.handle.name)
    state.task().set_killed(Killed(reason=Kill.DEADLINE, at=0))
    async with bench.service() as second:
        assert (await second.status(bench.handle)).phase is Phase.EXITED
        assert (await second.outcome(bench.handle)).reason is Reason.DEADLINE


async def test_after_another_boot_the_devices_are_attached_anew_and_the_work_is_read(bench: Bench) -> None:
    async with bench.service() as first:
        await bench.started(first)
        await first.wait(bench.handle, BOUND)
        another_boot(bench)
        outcome = await bench.ended(first)
    assert b"new file" in patch(outcome)


async def test_after_another_boot_a_ready_sandbox_is_made_anew(bench: Bench) -> None:
    async with bench.service() as service:
        await service.prepare(bench.job(), Secrets())
        before = StateDir(bench.settings.state_dir).of(bench.handle.name).workspace()
        another_boot(bench)
        await service.prepare(bench.job(), Secrets())
        after = StateDir(bench.settings.state_dir).of(bench.handle.name).workspace()
    assert before is not None
    assert after is not None
    assert before.id != after.id


def another_boot(bench: Bench) -> None:
    """The machine has started anew since: what the files say of the present boot is of an earlier one."""
    state = StateDir(bench.settings.state_dir).of(bench.handle.name)
    workspace = state.workspace()
    assert workspace is not None
    state.set_workspace(workspace.model_copy(update={"boot": "an earlier one"}))
    if state.task().ready() is not None:
        state.task().set_ready(Ready(boot="an earlier one"))


# --- opening --------------------------------------------------------------------------------------------------------


async def test_a_missing_image_is_told_with_what_to_do(bench: Bench) -> None:
    settings = bench.settings.model_copy(update={"image_prefix": "gofer-never-built"})
    with pytest.raises(RuntimeError, match="make images"):
        await open_sandbox("local:", settings)


async def test_a_missing_runtime_is_refused_not_replaced(bench: Bench) -> None:
    with pytest.raises(RuntimeError, match="runsc"):
        await open_sandbox("local:", bench.settings.model_copy(update={"runtime": "runsc"}))


async def test_no_engine_is_unreachable(bench: Bench) -> None:
    with pytest.raises(Unreachable):
        await open_sandbox("local:", bench.settings.model_copy(update={"docker_host": "tcp://127.0.0.1:9"}))


async def test_an_instance_can_be_uninstalled_once_it_is_empty(
    bench: Bench, docker_client: docker.DockerClient
) -> None:
    bench.settings = bench.settings.model_copy(update={"instance": f"{bench.settings.instance}-u"})
    wanted = {"label": f"gofer.instance={bench.settings.instance}"}
    async with bench.service() as service:
        await service.prepare(bench.job(), Secrets())
        with pytest.raises(RuntimeError, match=bench.handle.name):
            await service.uninstall()
        await service.remove(bench.handle)
        await service.uninstall()
        assert docker_client.api.networks(filters=wanted) == []
        assert not docker_client.api.volumes(filters=wanted)["Volumes"]
    bench.settings = bench.settings.model_copy(update={"instance": bench.settings.instance.removesuffix("-u")})


async def test_an_engine_that_hangs_is_unreachable_and_nothing_is_concluded_from_it(
    bench: Bench, tmp_path: Path, engine_host: str
) -> None:
    """Unknown is not absent: not lost, not ended; once it answers again the task is where it was."""
    if not engine_host.startswith("unix://"):
        pytest.skip("the engine is not on a Unix socket")
    with Valve(tmp_path / "engine.sock", engine_host.removeprefix("unix://")) as valve:
        settings = bench.settings.model_copy(update={"docker_host": f"unix://{valve.path}"})
        service = await open_local(settings, agents=agents("sleep 1000"), answer_seconds=5.0)
        await bench.started(service)
        valve.shut()
        calls = [
            service.status(bench.handle),
            service.wait(bench.handle, 5),
            service.outcome(bench.handle),
            service.handles(),
        ]
        async with asyncio.timeout(BOUND):
            answers = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(answer) for answer in answers] == [Unreachable] * 4
        valve.open()
        assert (await service.status(bench.handle)).phase is Phase.RUNNING
        await service.cancel(bench.handle, Reason.CANCELLED)
        await service.close()
