"""Group S, resources: whoever takes all he can get ends alone and with his reason, beside another at work.

Each attack runs beside a task of fixed work, whose seconds are compared with those of the same work alone. What the
attacker may take of the host is his image's cap and his log's; afterwards none of it is left. Memory, a full workspace
and full inodes alone: tests/sandbox/test_service.py.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from sandbox import Limits, Outcome, Phase, Reason, State
from sandbox.service import Service
from tests.local_sandbox import bundle
from tests.sandbox.test_service import Bench, bench
from tests.scripted import ASK, GOOD, SAY_DONE

__all__ = ["bench"]

pytestmark = [pytest.mark.engine, pytest.mark.slow]

MIB = 2**20
BOUND = 400.0  # the extractor alone may take 180 s over what it refuses in the end
LOG_BYTES = 4 * 17 * 10**6
LIMITS = Limits(
    wall_seconds=90, memory_bytes=256 * MIB, cpus=1.0, pids=128, workspace_bytes=256 * MIB, workspace_inodes=60_000
)
# Work in the processor, in the workspace and with processes, some seconds of each on a slow machine.
WORK = (
    "python3 -c 'sum(i * i for i in range(6_000_000))';"
    " for i in $(seq 60); do seq 2000 > f$i; sync f$i; done; for i in $(seq 200); do /bin/true; done"
)
# One processor of two is the attacker's to use, and the machine's own work is shared: more than this is harm.
SLOWER = 3.0


@dataclass(frozen=True)
class Attack:
    """``ends``: the reasons that are right; ``refused``: its tree is no patch, and words say why."""

    script: str
    ends: tuple[Reason, ...]
    refused: bool = False
    limits: Limits = LIMITS


ATTACKS = {
    "fork bomb": Attack("f() { f | f & }; f; f; sleep 20; exit 3", (Reason.EXIT, Reason.DEADLINE)),
    "memory bomb": Attack("exec python3 -c 'b = bytearray(1 << 30)'", (Reason.OUT_OF_MEMORY,)),
    "memory bomb in a child": Attack(
        f"for i in 1 2 3; do python3 -c 'b = bytearray(1 << 30)'; done; {GOOD}", (Reason.OK,)
    ),
    "disk fill": Attack("dd if=/dev/zero of=big bs=1M || exit 4", (Reason.DISK_FULL,), refused=True),
    "a million files": Attack(
        'python3 -c \'for i in range(10**6): open(f"f{i}", "x").close()\' || exit 5', (Reason.DISK_FULL,), refused=True
    ),
    "log flood": Attack(f"yes | head -c 30000000; echo; {ASK}; {SAY_DONE}", (Reason.OK, Reason.UNCHANGED)),
    "one sparse file of 20 GiB": Attack("truncate -s 20G big || exit 6", (Reason.EXIT,)),
    "sparse files of 20 GiB": Attack(
        "for i in $(seq 11); do truncate -s 1900M big$i; done; exit 6", (Reason.EXIT,), refused=True
    ),
    "deep directories": Attack(
        'python3 -c \'import os\nfor i in range(20_000): os.mkdir("d" * 50); os.chdir("d" * 50)\' ; exit 7',
        (Reason.EXIT, Reason.DISK_FULL),
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attacker_ends_alone(
    name: str, bench: Bench, docker_client: docker.DockerClient, tmp_path: Path
) -> None:
    attack = ATTACKS[name]
    neighbour = Bench(bench.settings, bundle(tmp_path, {"a.txt": b"one\n"}))
    async with bench.service(attack.script) as attacking, neighbour.service(WORK) as working:
        try:
            alone = await seconds(neighbour, working)
            await bench.started(attacking, attack.limits)
            beside = await seconds(neighbour, working)
            await ended(bench, attacking)
            took = log_bytes(docker_client, bench)
            async with asyncio.timeout(BOUND):
                outcome = await attacking.outcome(bench.handle)
        finally:
            await working.remove(neighbour.handle)
    assert outcome.reason in attack.ends, outcome
    assert outcome.state is (State.SUCCEEDED if outcome.reason in {Reason.OK, Reason.UNCHANGED} else State.FAILED)
    assert took <= LOG_BYTES
    assert told(outcome) is attack.refused or not attack.refused, outcome
    assert beside <= SLOWER * alone, f"{beside:.1f} s instead of {alone:.1f} s"


def told(outcome: Outcome) -> bool:
    """Whether the tree was refused in words, or could not be read and a note says so."""
    return bool(outcome.changes.refusal) if outcome.changes is not None else bool(outcome.notes)


async def seconds(neighbour: Bench, service: Service) -> float:
    """One life of the neighbour; the seconds of its agent alone, by the engine's clock."""
    await service.remove(neighbour.handle)
    await neighbour.started(service, LIMITS)
    async with asyncio.timeout(BOUND):
        outcome = await ended_outcome(neighbour, service)
    assert outcome.exit_code == 0, outcome
    return outcome.duration_seconds


async def ended_outcome(neighbour: Bench, service: Service) -> Outcome:
    await ended(neighbour, service)
    return await service.outcome(neighbour.handle)


async def ended(one: Bench, service: Service) -> None:
    until = time.monotonic() + BOUND
    while (await service.wait(one.handle, 10)).phase is Phase.RUNNING:
        assert time.monotonic() < until


def log_bytes(client: docker.DockerClient, bench: Bench) -> int:
    """What the attacker's output takes on the host."""
    log = client.api.inspect_container(bench.container("agent"))["LogPath"]
    return sum(file.stat().st_size for file in Path(log).parent.glob("*-json.log*"))
