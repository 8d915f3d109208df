"""What every container of a sandbox is allowed: complete settings per role, as the Docker Engine API takes them.

Pure. With ``hardening`` this is the one place that decides them; the golden files under
tests/sandbox/engines/golden hold it still, and tests/attacks/test_sandbox_inside.py tells what they are worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.engine import Plan
from sandbox.engines.hardening import CPU_SHARES, Ask, Ground, container, mount
from sandbox.engines.names import AGENT_UID, EGRESS_UID, LOCK_GID, MIB, Names, images_volume
from sandbox.engines.surroundings import agent_environment, setup_environment
from sandbox.job import Limits

EGRESS_MEMORY_BYTES = 512 * MIB  # mitmproxy needs 52 MiB; the rest is for bodies in flight
HELPER_MEMORY_BYTES = 2048 * MIB  # git's index-pack and diff on large repositories, and the tmpfs they write to
STORE_MEMORY_BYTES = 256 * MIB  # mkfs of a large image, page cache included
EGRESS_PIDS = 128
HELPER_PIDS = 128

# Paths inside the containers.
AGENT_TMPFS = {
    # exec: noexec breaks `go test` and the like, and protects nothing where an interpreter is at hand
    "/tmp": "rw,nosuid,nodev,exec,size=512m,nr_inodes=50k,mode=1777",  # noqa: S108
    "/home/agent": f"rw,nosuid,nodev,exec,size=256m,nr_inodes=20k,uid={AGENT_UID},gid={AGENT_UID},mode=0700",
    # the certificates that its programs trust are put there by the entry, which runs as the agent
    "/run": f"rw,nosuid,nodev,noexec,size=8m,nr_inodes=1k,uid={AGENT_UID},gid={AGENT_UID},mode=0755",
}
HELPER_TMPFS = {"/tmp": "rw,nosuid,nodev,noexec,size=1024m,nr_inodes=200k,mode=1777"}  # noqa: S108
# Where the files that decide about dependencies are copied to: commands may write beside them, and nothing stays.
SETUP_TMPFS = {**AGENT_TMPFS, "/ws": f"rw,nosuid,nodev,exec,size=256m,nr_inodes=50k,uid={AGENT_UID},gid={AGENT_UID}"}
EGRESS_TMPFS = {"/tmp": "rw,nosuid,nodev,noexec,size=64m,nr_inodes=1k,mode=1777"}  # noqa: S108
# Nothing of the repository is asked for before the way out is in place; 30 s is link.READY_SECONDS.
FETCH = (
    "n=0; while [ ! -S /sock/git.sock ] && [ $n -lt 1500 ]; do sleep 0.02; n=$((n+1)); done; "
    "exec /usr/bin/python3 -I -m sandbox.inside.fetch"
)
EXTRACT = "stat -f -c '%a %b %d' /ws >&2; exec /usr/bin/python3 -I -m sandbox.inside.extract \"$@\""
NO_LOG = {"Type": "none", "Config": {}}  # what a helper says is read while it says it, attached
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# loop devices (block 7) and /dev/loop-control (character 10:237): read, write, mknod
LOOP_DEVICES = ["b 7:* rmw", "c 10:237 rmw"]


@dataclass(frozen=True)
class Images:
    """Image IDs, resolved when the service opens: a tag that moves later changes nothing."""

    base: str
    egress: str
    agents: Mapping[str, str]


def agent(
    names: Names,
    ground: Ground,
    image: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    limits: Limits,
    *,
    agent: str = "claude",
    mirror: str = "",
    deps: str = "",
) -> Plan:
    """The agent's container: no network at all, no capability, and the sockets of its egress as its only way out.

    ``mirror`` and ``deps`` name volumes of its own repository, empty where there is none: it reads them, no more.
    """
    return container(
        names,
        "agent",
        ground,
        Ask(
            image=image,
            entrypoint=["/opt/gofer/entry"],
            command=command,
            user=f"{AGENT_UID}:{AGENT_UID}",
            working_dir="/ws/repo",
            environment=agent_environment(agent, dict(environment), deps=bool(deps)),
            memory=limits.memory_bytes,
            pids=limits.pids,
            cpus=min(limits.cpus, ground.cpus),
            tmpfs=AGENT_TMPFS,
            mounts=[
                mount(names.of("ws"), "/ws"),
                mount(names.of("inputs"), "/inputs", read_only=True),
                mount(names.of("sock-agent"), "/sock", read_only=True),
                *_shared(mirror, "/mirror"),
                *_shared(deps, "/deps"),
            ],
        ),
    )


def _shared(volume: str, target: str) -> list[dict[str, Any]]:
    """What tasks of one repository have in common is never writable where an agent has been or will be."""
    return [mount(volume, target, read_only=True)] if volume else []


def setup(names: Names, ground: Ground, image: str, limits: Limits, deps: str) -> Plan:
    """Makes a repository's dependencies ready before the agent starts: the agent's own image, no model.

    It sees the files that decide about them (``/setup``), and neither the workspace nor the prompt: what it leaves
    in ``deps`` is kept for other tasks, and may depend on nothing that a task has written elsewhere.
    """
    return container(
        names,
        "setup",
        ground,
        Ask(
            image=image,
            entrypoint=["/opt/gofer/setup"],
            command=[],
            user=f"{AGENT_UID}:{AGENT_UID}",
            working_dir="/",
            environment=setup_environment(),
            memory=limits.memory_bytes,
            pids=limits.pids,
            cpus=min(limits.cpus, ground.cpus),
            tmpfs=SETUP_TMPFS,
            log=NO_LOG,
            mounts=[
                mount(names.of("setup"), "/setup", read_only=True),
                mount(names.of("sock-setup"), "/sock", read_only=True),
                mount(deps, "/deps"),
            ],
        ),
    )


def fetch(names: Names, ground: Ground, image: str, limits: Limits, *, mirror: str = "") -> Plan:
    """Fills the workspace before the agent exists, through the git socket only. It may start before the egress:
    it does nothing until that socket is there. The one container that may write to the repository's mirror, and
    the only one of the group that can take its lock."""
    return container(
        names,
        "fetch",
        ground,
        Ask(
            image=image,
            entrypoint=["/bin/sh", "-c", FETCH],
            command=[],
            user=f"{AGENT_UID}:{AGENT_UID}",
            working_dir="/",
            environment=[PATH, "HOME=/tmp", "LANG=C.UTF-8"],
            memory=HELPER_MEMORY_BYTES,
            pids=HELPER_PIDS,
            cpus=min(limits.cpus, ground.cpus),
            tmpfs=HELPER_TMPFS,
            log=NO_LOG,
            mounts=[
                mount(names.of("ws"), "/ws"),
                mount(names.of("clean"), "/clean"),
                mount(names.of("inputs"), "/inputs", read_only=True),
                mount(names.of("sock-fetch"), "/sock", read_only=True),
                *([mount(mirror, "/mirror")] if mirror else []),
            ],
            groups=[str(LOCK_GID)] if mirror else [],
        ),
    )


def extract(
    names: Names,
    ground: Ground,
    image: str,
    limits: Limits,
    ws: str | None = None,
    clean: str | None = None,
    *,
    mirror: str = "",
) -> Plan:
    """Reads the work tree after the agent is dead. Its answer is bytes: attached, never through the log.

    On stderr its first line is how much room the workspace has left: blocks and inodes.
    """
    return container(
        names,
        "extract",
        ground,
        Ask(
            image=image,
            entrypoint=["/bin/sh", "-c", EXTRACT, "extract"],
            command=[str(limits.patch_bytes), str(limits.patch_files), str(limits.content_bytes)],
            user="0:0",
            working_dir="/",
            environment=[PATH, "HOME=/tmp", "LANG=C.UTF-8"],
            # root without any capability cannot open what the agent made 0700
            cap_add=["DAC_READ_SEARCH"],
            memory=HELPER_MEMORY_BYTES,
            pids=HELPER_PIDS,
            cpus=min(limits.cpus, ground.cpus),
            tmpfs=HELPER_TMPFS,
            log=NO_LOG,
            mounts=[
                mount(ws or names.of("ws"), "/ws", read_only=True),
                mount(clean or names.of("clean"), "/clean", read_only=True),
                *_shared(mirror, "/mirror"),
            ],
        ),
    )


def egress(
    names: Names, ground: Ground, image: str, *, host_gateway: bool, sockets: Sequence[str] = ("agent", "fetch")
) -> Plan:
    """The one container with a network. Secrets reach it on stdin, which stays open for control lines.

    ``sockets``: those of ``agent``, ``fetch`` and ``setup`` that it is to listen at.
    """
    return container(
        names,
        "egress",
        ground,
        Ask(
            image=image,
            entrypoint=["/opt/gofer/venv/bin/python"],
            command=["-I", "-m", "sandbox.egress.launch"],
            user=f"{EGRESS_UID}:{EGRESS_UID}",
            working_dir="/",
            environment=[PATH, "HOME=/tmp", "LANG=C.UTF-8"],
            network_mode=names.network,
            stdin=True,
            memory=EGRESS_MEMORY_BYTES,
            pids=EGRESS_PIDS,
            cpus=ground.cpus,
            cpu_shares=4 * CPU_SHARES,
            tmpfs=EGRESS_TMPFS,
            extra_hosts=["host.docker.internal:host-gateway"] if host_gateway else [],
            mounts=[mount(names.of(f"sock-{one}"), f"/sock/{one}") for one in sockets],
        ),
    )


def lockfiles(names: Names, ground: Ground, image: str, paths: Sequence[str]) -> Plan:
    """Reads the files that decide about dependencies, as the agent's own uid can; its answer is bytes, attached."""
    return container(
        names,
        "lockfiles",
        ground,
        Ask(
            image=image,
            entrypoint=["/usr/bin/python3", "-I", "-m", "sandbox.inside.lockfiles"],
            command=paths,
            user=f"{AGENT_UID}:{AGENT_UID}",
            working_dir="/",
            environment=[PATH, "HOME=/tmp", "LANG=C.UTF-8"],
            memory=STORE_MEMORY_BYTES,
            pids=HELPER_PIDS,
            cpus=ground.cpus,
            tmpfs={},
            log=NO_LOG,
            mounts=[mount(names.of("ws"), "/ws", read_only=True)],
        ),
    )


def filler(names: Names, ground: Ground, image: str, *, mirror: str = "") -> Plan:
    """Never started: archives are unpacked through it into the inputs volume, and the folders of a mirror."""
    mounts = [mount(names.of("inputs"), "/inputs"), *([mount(mirror, "/mirror")] if mirror else [])]
    return _filler(names, "filler", ground, image, mounts)


def setup_filler(names: Names, ground: Ground, image: str) -> Plan:
    """Never started: what a setup phase is given is unpacked through it."""
    return _filler(names, "setup-filler", ground, image, [mount(names.of("setup"), "/setup")])


def _filler(names: Names, role: str, ground: Ground, image: str, mounts: Sequence[dict[str, Any]]) -> Plan:
    """An engine refuses to unpack into a container whose root is read-only, so this one's is not."""
    return container(
        names,
        role,
        ground,
        Ask(
            image=image,
            entrypoint=["/bin/false"],
            command=[],
            user=f"{AGENT_UID}:{AGENT_UID}",
            working_dir="/",
            environment=[PATH, "LANG=C.UTF-8"],
            memory=STORE_MEMORY_BYTES,
            pids=HELPER_PIDS,
            cpus=ground.cpus,
            tmpfs={},
            log=NO_LOG,
            read_only=False,
            mounts=mounts,
        ),
    )


def store(instance: str, sandbox: str, random: str, ground: Ground, image: str, command: Sequence[str]) -> Plan:
    """Makes, finds and removes the loop devices: the one helper that may do something to the machine, which it does
    by constants and our own names alone. ``sandbox`` is empty for ``list``."""
    plan = container(
        Names(instance, sandbox),
        "store",
        ground,
        Ask(
            image=image,
            entrypoint=["/usr/bin/python3"],
            command=["-I", "-m", "sandbox.inside.store", *command],
            user="0:0",
            working_dir="/",
            environment=[PATH, "HOME=/tmp", "LANG=C.UTF-8"],
            # To attach a loop device. Asked for by name: --privileged fails on machines whose root lacks a capability.
            cap_add=["SYS_ADMIN"],
            device_rules=LOOP_DEVICES,
            memory=STORE_MEMORY_BYTES,
            pids=HELPER_PIDS,
            cpus=ground.cpus,
            cpu_shares=4 * CPU_SHARES,
            fsize=-1,  # an image file is as large as its workspace
            tmpfs=HELPER_TMPFS,
            log=NO_LOG,
            mounts=[
                mount(images_volume(instance).name, "/images"),
                # the machine's /dev: a loop device made a moment ago must be visible
                {"Type": "bind", "Source": "/dev", "Target": "/dev", "ReadOnly": False},
            ],
        ),
    )
    return Plan(f"gofer-{instance}-store-{random}", plan.settings)
