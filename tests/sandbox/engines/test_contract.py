"""What every engine behind ``sandbox.engine.Engine`` must do, on a real one. A second engine is one more parameter."""

from __future__ import annotations

import asyncio
import io
import secrets
import tarfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import docker
import pytest

from sandbox import Unreachable
from sandbox.engine import STDERR, STDOUT, Differs, Engine, Gone, Plan, Refused, Volume
from sandbox.engines import names as things
from sandbox.engines.docker import DockerEngine
from sandbox.engines.hardening import Ask, Ground, container, mount
from sandbox.engines.names import Names
from tests.engine import Images, sweep
from tests.valve import Valve

pytestmark = pytest.mark.engine

BOUND = 30.0
PROFILE = (Path(__file__).parents[3] / "sandbox" / "engines" / "seccomp.json").read_text()


@pytest.fixture
async def engine(engine_host: str) -> AsyncIterator[Engine]:
    opened = await DockerEngine.open(engine_host)
    yield opened
    await opened.close()


@pytest.fixture
def names(docker_client: docker.DockerClient) -> Iterator[Names]:
    """An instance of the test's own, swept afterwards."""
    instance = f"h3c{secrets.token_hex(4)}"
    yield Names(instance, "box")
    sweep(docker_client, instance)


def planned(
    names: Names, image: str, script: str, *, role: str = "probe", mounts: Sequence[dict[str, object]] = ()
) -> Plan:
    return container(
        names,
        role,
        Ground(PROFILE),
        Ask(
            image=image,
            entrypoint=["/bin/bash", "-c"],
            command=[script],
            user="65532:65532",
            working_dir="/",
            environment=["PATH=/usr/bin:/bin", "LANG=C.UTF-8"],
            memory=256 * 2**20,
            pids=64,
            cpus=1,
            tmpfs={},
            mounts=mounts,
            stdin=role == "reader",
        ),
    )


async def ran(engine: Engine, plan: Plan) -> dict[int, bytes]:
    await engine.create(plan)
    await engine.start(plan.name)
    return await told(engine, plan.name)


async def told(engine: Engine, name: str) -> dict[int, bytes]:
    """Wait for its end, answer what it logged by channel."""
    async with asyncio.timeout(BOUND):
        while (look := await engine.look(name)) is not None and look.running:
            await engine.ended(name, 5)
    said: dict[int, bytes] = {STDOUT: b"", STDERR: b""}

    def feed(channel: int, piece: bytes) -> None:
        said[channel] += piece

    assert await engine.logs(name, feed)
    return said


async def test_a_container_lives_and_tells_its_end(engine: Engine, names: Names, images: Images) -> None:
    # An engine notes the time of a start once it has started: what ends at once can have ended before that.
    plan = planned(names, images.base, "echo out; echo err >&2; sleep 0.1; exit 7")
    assert await engine.look(plan.name) is None
    await engine.create(plan)
    before = await engine.look(plan.name)
    assert before is not None
    assert (before.running, before.started, before.exit_code, before.started_at) == (False, False, None, None)
    await engine.start(plan.name)
    assert await told(engine, plan.name) == {STDOUT: b"out\n", STDERR: b"err\n"}
    after = await engine.look(plan.name)
    assert after is not None
    assert (after.running, after.started, after.exit_code) == (False, True, 7)
    assert after.started_at is not None
    assert after.finished_at is not None
    assert after.finished_at >= after.started_at
    await engine.remove(plan.name)
    await engine.remove(plan.name)
    assert await engine.look(plan.name) is None


async def test_gone_is_told_apart_everywhere(engine: Engine, names: Names, images: Images) -> None:
    name = names.of("nowhere")
    assert await engine.look(name) is None
    assert await engine.volume(name) is None
    assert await engine.image("gofer/never-built:latest") is None
    assert not await engine.logs(name, lambda _channel, _piece: None)
    await engine.kill(name)
    await engine.remove(name)
    await engine.remove_volume(name)
    await engine.remove_network(name)
    with pytest.raises(Gone):
        await engine.start(name)
    with pytest.raises(Gone):
        await engine.create(planned(names, "sha256:" + "0" * 64, "true"))


async def test_a_name_is_taken_once(engine: Engine, names: Names, images: Images) -> None:
    plan = planned(names, images.base, "true")
    await engine.create(plan)
    with pytest.raises(Refused) as caught:
        await engine.create(plan)
    assert caught.value.status == 409


async def test_s23_what_is_not_made_as_planned_is_removed_again(
    engine: Engine, names: Names, images: Images, docker_client: docker.DockerClient
) -> None:
    """An image with a variable of its own: the engine adds it to the container, silently."""
    change = ["ENV SECRET=in-the-image"]
    made = docker_client.api.import_image_from_data(empty_tar(), repository=f"{names.instance}/odd", changes=change)
    assert "sha256" in made
    odd = await engine.image(f"{names.instance}/odd:latest")
    assert odd is not None
    plan = planned(names, odd, "true")
    try:
        with pytest.raises(Differs, match="Env"):
            await engine.create(plan)
        assert await engine.look(plan.name) is None
    finally:
        docker_client.api.remove_image(odd, force=True)


def empty_tar() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w"):
        pass
    return target.getvalue()


async def test_kill_returns_when_it_is_dead_and_may_be_repeated(engine: Engine, names: Names, images: Images) -> None:
    plan = planned(names, images.base, "trap '' TERM INT HUP; while :; do sleep 1; done")
    await engine.create(plan)
    await engine.kill(plan.name)  # never started: nothing to do
    await engine.start(plan.name)
    await engine.start(plan.name)
    await engine.kill(plan.name)
    look = await engine.look(plan.name)
    assert look is not None
    assert (look.running, look.exit_code, look.oom) == (False, 137, False)
    await engine.kill(plan.name)


async def test_an_end_is_heard_of_before_the_wait_is_over(engine: Engine, names: Names, images: Images) -> None:
    plan = planned(names, images.base, "read -r -t 0.3 <> <(:); exit 3")
    await engine.create(plan)
    await engine.start(plan.name)
    async with asyncio.timeout(BOUND):
        await engine.ended(plan.name, 2 * BOUND)
    await engine.ended(plan.name, 2 * BOUND)  # ended already
    await engine.ended(names.of("nowhere"), 2 * BOUND)
    look = await engine.look(plan.name)
    assert look is not None
    assert look.exit_code == 3


async def test_a_wait_without_an_end_is_over_in_time(engine: Engine, names: Names, images: Images) -> None:
    plan = planned(names, images.base, "sleep 1000")
    await engine.create(plan)
    await engine.start(plan.name)
    async with asyncio.timeout(BOUND):
        await engine.ended(plan.name, 0.1)
    await engine.kill(plan.name)


async def test_attached_bytes_are_exact_and_stdin_survives_a_detach(
    engine: Engine, names: Names, images: Images
) -> None:
    script = r"printf 'a\xff\x00b'; read -r one; echo \"1 $one\"; read -r two; echo \"2 $two\" >&2"
    plan = planned(names, images.base, script.replace('\\"', '"'), role="reader")
    await engine.create(plan)
    async with asyncio.timeout(BOUND), engine.attach(plan.name) as stream:
        await engine.start(plan.name)
        assert await stream.read() == (STDOUT, b"a\xff\x00b")
        await stream.write(b"first\n")
        assert await stream.read() == (STDOUT, b"1 first\n")
    look = await engine.look(plan.name)
    assert look is not None
    assert look.running, "letting go of stdin must not end it"
    async with asyncio.timeout(BOUND), engine.attach(plan.name) as stream:
        await stream.write(b"second\n")
        assert await stream.read() == (STDERR, b"2 second\n")
        assert await stream.read() is None


async def test_megabytes_come_through_an_attached_stream_whole(engine: Engine, names: Names, images: Images) -> None:
    plan = planned(names, images.base, "head -c 9000000 /dev/zero")
    await engine.create(plan)
    size = 0
    async with asyncio.timeout(BOUND), engine.attach(plan.name) as stream:
        await engine.start(plan.name)
        while (piece := await stream.read()) is not None:
            size += len(piece[1])
    assert size == 9_000_000


async def test_the_log_can_be_read_in_part(engine: Engine, names: Names, images: Images) -> None:
    plan = planned(names, images.base, "for i in 1 2 3 4 5; do echo line $i; done")
    assert (await ran(engine, plan))[STDOUT].count(b"\n") == 5
    pieces: list[bytes] = []
    await engine.logs(plan.name, lambda _channel, piece: pieces.append(piece), tail=2)
    assert b"".join(pieces) == b"line 4\nline 5\n"
    pieces.clear()
    look = await engine.look(plan.name)
    assert look is not None
    assert look.finished_at is not None
    await engine.logs(plan.name, lambda _channel, piece: pieces.append(piece), since=look.finished_at + 1)
    assert pieces == []


async def test_b98_a_line_of_megabytes_does_not_glue_the_log_together(
    engine: Engine, names: Names, images: Images
) -> None:
    said = await ran(engine, planned(names, images.base, "head -c 2000000 /dev/zero | tr '\\0' x; echo; echo end"))
    assert [len(line) for line in said[STDOUT].split(b"\n")] == [2_000_000, 3, 0]


async def test_files_reach_a_volume_through_a_container_that_never_runs(
    engine: Engine, names: Names, images: Images
) -> None:
    volume = things.inputs_volume(names)
    await engine.make_volume(volume)
    from sandbox.engines import plan

    filler = plan.filler(names, Ground(PROFILE), images.base)
    await engine.create(filler)
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        entry = tarfile.TarInfo("prompt")
        entry.size, entry.mode = 5, 0o444
        archive.addfile(entry, io.BytesIO(b"hello"))
    await engine.put(filler.name, "/inputs", target.getvalue())
    await engine.remove(filler.name)
    reader = planned(
        names,
        images.base,
        "cat /inputs/prompt; touch /inputs/x",
        mounts=[mount(volume.name, "/inputs", read_only=True)],
    )
    said = await ran(engine, reader)
    assert said[STDOUT] == b"hello"
    assert b"Read-only file system" in said[STDERR]


async def test_a_volume_that_is_not_as_asked_for_is_refused(engine: Engine, names: Names) -> None:
    """Engines answer yes to a volume that exists with other options, and mount the old one."""
    asked = things.socket_volume(names, "sock-agent")
    await engine.make_volume(asked)
    await engine.make_volume(asked)
    assert await engine.volume(asked.name) == asked
    for other in (Volume(asked.name, asked.labels), Volume(asked.name, {"gofer.instance": "x"}, asked.options)):
        with pytest.raises(Refused, match="other options or labels"):
            await engine.make_volume(other)


async def test_a_volume_in_use_is_not_removed(engine: Engine, names: Names, images: Images) -> None:
    volume = things.inputs_volume(names)
    await engine.make_volume(volume)
    plan = planned(names, images.base, "true", mounts=[mount(volume.name, "/inputs")])
    await engine.create(plan)
    with pytest.raises(Refused) as caught:
        await engine.remove_volume(volume.name)
    assert caught.value.status == 409
    await engine.remove(plan.name)
    await engine.remove_volume(volume.name)
    assert await engine.volume(volume.name) is None


async def test_everything_is_found_by_its_label(engine: Engine, names: Names, images: Images) -> None:
    await engine.make_volume(things.inputs_volume(names))
    await engine.make_volume(things.images_volume(names.instance))
    await engine.create(planned(names, images.base, "true"))
    whole, own = await engine.find(names.instance), await engine.find(names.instance, "box")
    assert [(item.sandbox, item.role) for item in own.containers] == [("box", "probe")]
    assert [(item.sandbox, item.role) for item in own.volumes] == [("box", "inputs")]
    assert {(item.sandbox, item.role) for item in whole.volumes} == {("box", "inputs"), ("", "images")}
    assert await engine.find(names.instance, "other") == await engine.find("h3-nobody")


async def test_s04_two_containers_on_the_network_cannot_reach_each_other(
    engine: Engine, names: Names, images: Images, docker_client: docker.DockerClient
) -> None:
    await engine.make_network(names.network, things.labels(names.instance, "", "network"))
    await engine.make_network(names.network, things.labels(names.instance, "", "network"))
    with pytest.raises(Refused, match="other options or labels"):
        await engine.make_network(names.network, {})
    serve = on_network(
        planned(names, images.base, "exec socat TCP-LISTEN:8000,fork,reuseaddr SYSTEM:'echo here'", role="one"), names
    )
    await engine.create(serve)
    await engine.start(serve.name)
    seen = docker_client.api.inspect_container(serve.name)
    address = seen["NetworkSettings"]["Networks"][names.network]["IPAddress"]
    ask = f"timeout 2 bash -c 'cat < /dev/tcp/{address}/8000'; echo $?"
    assert await reach(address) == b"here\n", "the host itself must reach it, or the test proves nothing"
    said = await ran(engine, on_network(planned(names, images.base, ask, role="two"), names))
    assert said[STDOUT].strip() == b"124", "the other container answered"
    await engine.kill(serve.name)


async def reach(address: str) -> bytes:
    async with asyncio.timeout(BOUND):
        while True:
            try:
                reader, writer = await asyncio.open_connection(address, 8000)
                break
            except OSError:
                await asyncio.sleep(0.05)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer


def on_network(plan: Plan, names: Names) -> Plan:
    host = {**plan.settings["HostConfig"], "NetworkMode": names.network, "Dns": [], "DnsSearch": []}
    return Plan(plan.name, {**plan.settings, "HostConfig": host})


async def test_the_host_is_described(engine: Engine) -> None:
    host = await engine.host()
    assert host.cpus >= 1
    assert "runc" in host.runtimes


async def test_no_engine_is_unreachable_not_gone(tmp_path: Path) -> None:
    with pytest.raises(Unreachable):
        await DockerEngine.open("tcp://127.0.0.1:9")


async def test_an_engine_that_hangs_is_unreachable_in_time(tmp_path: Path, engine_host: str) -> None:
    """A socket between us and the engine that stops passing answers on."""
    if not engine_host.startswith("unix://"):
        pytest.skip("the engine is not on a Unix socket")
    with Valve(tmp_path / "engine.sock", engine_host.removeprefix("unix://")) as valve:
        engine = await DockerEngine.open(f"unix://{valve.path}", seconds=1.0)
        assert (await engine.host()).cpus >= 1
        valve.shut()
        calls = [engine.look("x"), engine.find("x"), engine.volume("x"), engine.host(), engine.kill("x")]
        async with asyncio.timeout(BOUND):
            answers = await asyncio.gather(*calls * 3, return_exceptions=True)
        assert {type(answer) for answer in answers} == {Unreachable}
        await engine.close()
