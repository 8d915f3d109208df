"""What every container may do, held against golden files: a change of any setting shows in a review.

Rewrite them with ``GOFER_WRITE_GOLDEN=1 pytest tests/sandbox/engines/test_plan.py`` and read the difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from sandbox.engine import Plan
from sandbox.engines import names as things
from sandbox.engines import plan
from sandbox.engines.hardening import Ground
from sandbox.engines.names import Names
from sandbox.job import Limits

GOLDEN = Path(__file__).parent / "golden"
NAMES = Names("home", "t-42")
GROUND = Ground(seccomp="PROFILE", cpus=2)
IMAGE = "sha256:" + "1" * 64
MIRROR = things.mirror_volume("home", "https://git.example", "Octo/Repo").name
DEPS = "gofer-home-deps-0123456789abcdef0123"

PLANS: dict[str, Plan] = {
    "agent": plan.agent(NAMES, GROUND, IMAGE, ["claude", "-p"], {"ANTHROPIC_API_KEY": "placeholder"}, Limits()),
    "agent-shared": plan.agent(
        NAMES, GROUND, IMAGE, ["codex"], {"A": "b"}, Limits(), agent="codex", mirror=MIRROR, deps=DEPS
    ),
    "fetch": plan.fetch(NAMES, GROUND, IMAGE, Limits()),
    "fetch-mirror": plan.fetch(NAMES, GROUND, IMAGE, Limits(), mirror=MIRROR),
    "extract": plan.extract(NAMES, GROUND, IMAGE, Limits()),
    "extract-mirror": plan.extract(NAMES, GROUND, IMAGE, Limits(), mirror=MIRROR),
    "egress": plan.egress(NAMES, GROUND, IMAGE, host_gateway=False),
    "egress-setup": plan.egress(NAMES, GROUND, IMAGE, host_gateway=False, sockets=("agent", "fetch", "setup")),
    "setup": plan.setup(NAMES, GROUND, IMAGE, Limits(), DEPS),
    "filler": plan.filler(NAMES, GROUND, IMAGE),
    "filler-mirror": plan.filler(NAMES, GROUND, IMAGE, mirror=MIRROR),
    "setup-filler": plan.setup_filler(NAMES, GROUND, IMAGE),
    "lockfiles": plan.lockfiles(NAMES, GROUND, IMAGE, ["package-lock.json"]),
    "store": plan.store("home", "t-42", "r4nd0m", GROUND, IMAGE, ["list"]),
}
VOLUMES = {
    "sock-agent": things.socket_volume(NAMES, "sock-agent"),
    "ws": things.loop_volume(NAMES, "ws", "/dev/loop7"),
    "inputs": things.inputs_volume(NAMES),
    "images": things.images_volume("home"),
    "setup": things.setup_volume(NAMES),
    "sock-setup": things.socket_volume(NAMES, "sock-setup"),
    "deps": things.deps_volume("home", "0123456789abcdef0123", "/dev/loop7"),
    "draft": things.draft_volume(NAMES, "/dev/loop8"),
    "mirror": things.mirror_volume("home", "https://git.example", "Octo/Repo"),
}


def check(name: str, value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1, sort_keys=True) + "\n"
    if os.environ.get("GOFER_WRITE_GOLDEN"):
        (GOLDEN / f"{name}.json").write_text(text)
    assert text == (GOLDEN / f"{name}.json").read_text()


@pytest.mark.parametrize("role", PLANS)
def test_s23_settings_are_as_the_golden_file_has_them(role: str) -> None:
    check(role, {"name": PLANS[role].name, **PLANS[role].settings})


def test_volumes_are_as_the_golden_file_has_them() -> None:
    check("volumes", {k: {"name": v.name, "labels": v.labels, "options": v.options} for k, v in VOLUMES.items()})


@pytest.mark.parametrize("role", PLANS)
def test_s23_no_role_is_privileged(role: str) -> None:
    """The same as the golden files, said as rules, so that a careless rewrite of them fails here."""
    settings = PLANS[role].settings
    host = settings["HostConfig"]
    role = settings["Labels"]["gofer.role"]
    assert not host["Privileged"]
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true", "seccomp=PROFILE"]
    assert host["NetworkMode"] == ("gofer-home" if role == "egress" else "none")
    assert host["MemorySwap"] == host["Memory"] > 0
    assert host["PidsLimit"] > 0
    assert "host" not in {host["PidMode"], host["IpcMode"], host["UTSMode"], host["UsernsMode"], host["CgroupnsMode"]}
    assert host["Binds"] == host["Devices"] == host["DeviceRequests"] == []
    assert settings["User"].split(":")[0] != "0" or role in {"extract", "store"}
    assert host["CapAdd"] == {"extract": ["DAC_READ_SEARCH"], "store": ["SYS_ADMIN"]}.get(role, [])
    assert host["ReadonlyRootfs"] or role in {"filler", "setup-filler"}  # never started


def test_s01_no_role_but_the_store_helper_sees_anything_of_the_host() -> None:
    binds = {role: [m["Source"] for m in mounts(role) if m["Type"] != "volume"] for role in PLANS}
    assert {role: found for role, found in binds.items() if found} == {"store": ["/dev"]}


def mounts(role: str) -> Iterator[dict[str, Any]]:
    yield from PLANS[role].settings["HostConfig"]["Mounts"]


def test_the_agent_never_sees_the_clean_directory_nor_the_fetch_socket() -> None:
    own = {"ws": False, "inputs": True, "sock-agent": True}
    assert sources("agent") == own
    assert sources("agent-shared") == {**own, MIRROR: True, DEPS: True}


def sources(role: str) -> dict[str, bool]:
    """Each mounted volume, and whether it is read-only."""
    return {m["Source"].removeprefix("gofer-home-t-42-"): m["ReadOnly"] for m in mounts(role)}


def test_the_extractor_can_write_nowhere_but_its_tmpfs() -> None:
    assert all(m["ReadOnly"] for role in ("extract", "extract-mirror") for m in mounts(role))


def test_the_setup_phase_sees_neither_workspace_nor_prompt_nor_the_agents_sockets() -> None:
    assert sources("setup") == {"setup": True, "sock-setup": True, DEPS: False}


def test_only_the_fetch_helper_writes_to_the_mirror_and_is_of_its_locks_group() -> None:
    writers = {role for role in PLANS for m in mounts(role) if m["Source"] == MIRROR and not m["ReadOnly"]}
    assert writers == {"fetch-mirror", "filler-mirror"}  # the second is never started
    groups = {role: PLANS[role].settings["HostConfig"]["GroupAdd"] for role in PLANS}
    assert {role for role, given in groups.items() if given} == {"fetch-mirror"}


def test_only_a_container_with_dependencies_is_told_of_them() -> None:
    assert not [line for line in PLANS["agent"].settings["Env"] if "/deps" in line]
    assert PLANS["agent-shared"].settings["Env"][0].startswith("PATH=/deps/bin:/deps/venv/bin:/deps/node_modules/.bin:")


def test_a_repository_has_one_mirror_whatever_the_case_of_its_name() -> None:
    def name(base_url: str, repository: str) -> str:
        return things.mirror_volume("home", base_url, repository).name

    assert name("https://git.example", "octo/repo") == MIRROR
    assert name("https://git2.example", "octo/repo") != MIRROR != name("https://git.example", "octo/repo2")


def test_an_engine_with_one_cpu_is_not_asked_for_two() -> None:
    small = plan.agent(NAMES, Ground("P", cpus=1), IMAGE, [], {}, Limits(cpus=4))
    assert small.settings["HostConfig"]["NanoCpus"] == 1_000_000_000


def test_s20_names_come_from_our_ids_alone() -> None:
    assert all(p.name.startswith("gofer-home-") for p in PLANS.values())
    assert PLANS["agent"].settings["Labels"] == {
        "gofer.instance": "home",
        "gofer.sandbox": "t-42",
        "gofer.role": "agent",
    }


def profile() -> dict[str, Any]:
    loaded = json.loads(resources.files("sandbox.engines").joinpath("seccomp.json").read_text())
    assert isinstance(loaded, dict)
    return loaded


def allowed() -> dict[str, list[Any]]:
    """Calls that some rule allows, with the arguments asked for."""
    found: dict[str, list[Any]] = {}
    for rule in profile()["syscalls"]:
        if rule["action"] == "SCMP_ACT_ALLOW":
            for name in rule["names"]:
                found.setdefault(name, []).append(rule.get("args"))
    return found


def test_s07_the_profile_allows_none_of_the_calls_that_sandboxes_were_left_by() -> None:
    refused = {
        "socketcall", "clone3", "unshare", "setns", "keyctl", "add_key", "request_key", "bpf",
        "perf_event_open", "userfaultfd", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp",
        "pidfd_getfd", "mount", "umount2", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount",
        "open_tree", "mount_setattr", "pivot_root", "chroot", "name_to_handle_at", "open_by_handle_at",
        "memfd_secret", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
        "vmsplice", "io_uring_setup", "io_uring_enter", "io_uring_register", "reboot", "swapon", "syslog",
        "quotactl", "acct", "iopl", "ioperm",
    }  # fmt: skip
    assert refused & set(allowed()) == set()
    assert profile()["defaultAction"] == "SCMP_ACT_ERRNO"


def test_s07_the_profile_looks_at_the_arguments_of_four_calls() -> None:
    calls = allowed()
    assert [[arg["value"] for arg in rule] for rule in calls["socket"]] == [[1], [2], [16, 0]]
    assert [[arg["value"] for arg in rule] for rule in calls["socketpair"]] == [[1]]
    assert [[arg["value"] for arg in rule] for rule in calls["personality"]] == [[0], [0xFFFFFFFF]]
    [[clone]] = calls["clone"]
    assert (clone["op"], clone["value"], clone["valueTwo"]) == ("SCMP_CMP_MASKED_EQ", 0x7E020000, 0)


def test_s07_the_profile_knows_no_32_bit_calls() -> None:
    assert {entry["architecture"]: entry["subArchitectures"] for entry in profile()["archMap"]} == {
        "SCMP_ARCH_X86_64": [],
        "SCMP_ARCH_AARCH64": [],
    }
