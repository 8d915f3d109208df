"""What is the same for every container of ours: nothing that was not asked for by name. Pure.

Every setting that could weaken a container is written out, also where it is an engine's default, so that the golden
files show it and ``compare.differences`` checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.engine import Plan
from sandbox.engines.names import MIB, Names

CPU_SHARES = 256  # a quarter of the default: the bot and the egress go first on a busy machine
OOM_SCORE = 800  # the kernel picks the task before the bot
LOG_OPTIONS = {"max-size": "16m", "max-file": "4"}  # max-file=1 loses what was written before the last rotation
SHM_BYTES = 64 * MIB
FSIZE_BYTES = 2048 * MIB  # one file; the workspace's own cap bounds their sum
OPEN_FILES = 4096
MEMLOCK_BYTES = 64 * 1024
NO_RESOLVER = ["127.0.0.1"]  # without it the host's resolv.conf shows inside


@dataclass(frozen=True)
class Ground:
    """What the machine gives to every container of this service."""

    seccomp: str
    """The text of the profile: engines take it by value."""
    runtime: str = "runc"
    cpus: int = 1
    """Of the engine's machine: it refuses to give more."""


def mount(volume: str, target: str, *, read_only: bool = False) -> dict[str, Any]:
    # NoCopy: an engine would otherwise fill an empty volume with what the image has at that place
    options = {"NoCopy": True}
    return {
        "Type": "volume",
        "Source": volume,
        "Target": target,
        "ReadOnly": read_only,
        "VolumeOptions": options,
    }


def _ulimit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What one role asks for; what it does not name it does not get."""

    image: str
    entrypoint: Sequence[str]
    command: Sequence[str]
    user: str
    working_dir: str
    environment: Sequence[str]
    memory: int
    pids: int
    cpus: float
    tmpfs: Mapping[str, str]
    mounts: Sequence[Mapping[str, Any]]
    network_mode: str = "none"
    stdin: bool = False
    cap_add: Sequence[str] = ()
    device_rules: Sequence[str] = ()
    extra_hosts: Sequence[str] = ()
    groups: Sequence[str] = ()
    cpu_shares: int = CPU_SHARES
    fsize: int = FSIZE_BYTES
    read_only: bool = True
    log: Mapping[str, Any] = field(default_factory=lambda: {"Type": "json-file", "Config": LOG_OPTIONS})


def container(names: Names, role: str, ground: Ground, ask: Ask) -> Plan:
    """The complete settings of one role's container."""
    settings = {
        "Image": ask.image,
        "Entrypoint": list(ask.entrypoint),
        "Cmd": list(ask.command),
        "User": ask.user,
        "WorkingDir": ask.working_dir,
        "Hostname": "sandbox",
        "Domainname": "",
        "Env": list(ask.environment),
        "Labels": names.labels(role),
        "Tty": False,
        "OpenStdin": ask.stdin,
        # False also where stdin is open: the first attach that lets go must not be an end of file
        "StdinOnce": False,
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host(ground, ask),
    }
    return Plan(names.of(role), settings)


def _host(ground: Ground, ask: Ask) -> dict[str, Any]:
    isolated = ask.network_mode == "none"
    return {
        "AutoRemove": False,  # its state must stay to be looked at
        "Binds": [],
        "CapAdd": list(ask.cap_add),
        "CapDrop": ["ALL"],
        "CgroupParent": "",
        "CgroupnsMode": "private",
        "CpuShares": ask.cpu_shares,
        "DeviceCgroupRules": list(ask.device_rules),
        "DeviceRequests": [],
        "Devices": [],
        "Dns": NO_RESOLVER if isolated else [],
        "DnsOptions": [],
        "DnsSearch": ["."] if isolated else [],
        "ExtraHosts": list(ask.extra_hosts),
        "GroupAdd": list(ask.groups),
        "Init": True,
        "IpcMode": "private",
        "Links": [],
        "LogConfig": dict(ask.log),
        "Memory": ask.memory,
        "MemorySwap": ask.memory,  # equal: no swap
        "Mounts": [dict(one) for one in ask.mounts],
        "NanoCpus": int(ask.cpus * 1e9),
        "NetworkMode": ask.network_mode,
        "OomKillDisable": False,
        "OomScoreAdj": OOM_SCORE,
        "PidMode": "",
        "PidsLimit": ask.pids,
        "PortBindings": {},
        "Privileged": False,
        "PublishAllPorts": False,
        "ReadonlyRootfs": ask.read_only,
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        "Runtime": ground.runtime,
        "SecurityOpt": ["no-new-privileges:true", f"seccomp={ground.seccomp}"],
        "ShmSize": SHM_BYTES,
        "Tmpfs": dict(ask.tmpfs),
        "UTSMode": "",
        "Ulimits": [
            _ulimit("nofile", OPEN_FILES),
            _ulimit("core", 0),
            _ulimit("fsize", ask.fsize),
            _ulimit("memlock", MEMLOCK_BYTES),
        ],
        "UsernsMode": "",
        "VolumesFrom": [],
    }
