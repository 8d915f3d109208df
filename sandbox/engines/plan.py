"""What every container of a sandbox is allowed: complete settings per role, as the Docker Engine API takes them.

Pure. With ``hardening`` this is the one place that decides them; the golden files under
tests/sandbox/engines/golden hold it still, and tests/attacks/test_sandbox_inside.py tells what they are worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.engine import Plan
from sandbox.engines.hardening import CPU_SHARES, Ask, Ground, container, mount
from sandbox.engines.names import AGENT_UID, EGRESS_UID, MIB, Names, images_volume
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
    "/run": "rw,nosuid,nodev,noexec,size=8m,nr_inodes=1k",
}
HELPER_TMPFS = {"/tmp": "rw,nosuid,nodev,noexec,size=1024m,nr_inodes=200k,mode=1777"}  # noqa: S108
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
) -> Plan:
    """The agent's container: no network at all, no capability, and the model's socket as its only way out."""
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
            environment=[PATH, "HOME=/home/agent", "LANG=C.UTF-8", *(f"{k}={v}" for k, v in environment.items())],
            memory=limits.memory_bytes,
            pids=limits.pids,
            cpus=min(limits.cpus, ground.cpus),
            tmpfs=AGENT_TMPFS,
            mounts=[
                mount(names.of("ws"), "/ws"),
                mount(names.of("inputs"), "/inputs", read_only=True),
                mount(names.of("sock-agent"), "/sock", read_only=True),
            ],
        ),
    )


def fetch(names: Names, ground: Ground, image: str, limits: Limits) -> Plan:
    """Fills the workspace before the agent exists, through the git socket only. It may start before the egress:
    it does nothing until that socket is there."""
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
            ],
        ),
    )


def extract(
    names: Names, ground: Ground, image: str, limits: Limits, ws: str | None = None, clean: str | None = None
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
            command=[str(limits.patch_bytes), str(limits.patch_files)],
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
            ],
        ),
    )


def egress(names: Names, ground: Ground, image: str, *, host_gateway: bool) -> Plan:
    """The one container with a network. Secrets reach it on stdin, which stays open for control lines."""
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
            mounts=[
                mount(names.of("sock-agent"), "/sock/agent"),
                mount(names.of("sock-fetch"), "/sock/fetch"),
            ],
        ),
    )


def filler(names: Names, ground: Ground, image: str) -> Plan:
    """Never started: archives are unpacked through it into the inputs volume. (An engine refuses to unpack into a
    container whose root is read-only, so this one's is not.)"""
    return container(
        names,
        "filler",
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
            mounts=[mount(names.of("inputs"), "/inputs")],
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
