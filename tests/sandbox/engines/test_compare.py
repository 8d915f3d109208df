"""An engine that made something else than was planned is found out, whatever the difference."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sandbox.engines import plan
from sandbox.engines.compare import MASKED, READ_ONLY, differences
from sandbox.engines.hardening import Ground
from sandbox.engines.names import Names
from sandbox.job import Limits

PLAN = plan.agent(Names("i", "s"), Ground("P", cpus=2), "sha256:1", ["true"], {"A": "b"}, Limits())


def seen() -> dict[str, Any]:
    """What an engine answers that did as it was told, with its own ways of saying nothing."""
    settings = copy.deepcopy(dict(PLAN.settings))
    host = settings.pop("HostConfig")
    mounts = [
        {"Type": "volume", "Name": m["Source"], "Destination": m["Target"], "RW": not m["ReadOnly"]}
        for m in host["Mounts"]
    ]
    nothing = {"Links": None, "Devices": None, "KernelMemory": 0, "ConsoleSize": [0, 0], "OomKillDisable": None}
    host |= {**nothing, "MaskedPaths": sorted(MASKED), "ReadonlyPaths": sorted(READ_ONLY)}
    settings["Labels"] = {**settings["Labels"], "gofer.inputs": "of the image"}
    return {"Image": "sha256:1", "Config": settings, "HostConfig": host, "Mounts": mounts}


def test_an_engine_that_did_as_it_was_told_passes() -> None:
    assert differences(PLAN, seen()) == []


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("HostConfig", "Privileged", True),
        ("HostConfig", "CapDrop", []),
        ("HostConfig", "CapAdd", ["CAP_SYS_ADMIN"]),
        ("HostConfig", "NetworkMode", "bridge"),
        ("HostConfig", "ReadonlyRootfs", False),
        ("HostConfig", "SecurityOpt", ["no-new-privileges:true"]),
        ("HostConfig", "PidMode", "host"),
        ("HostConfig", "Binds", ["/:/host"]),
        ("HostConfig", "MemorySwap", -1),
        ("HostConfig", "Runtime", "other"),
        ("HostConfig", "PidsLimit", None),
        ("HostConfig", "Devices", [{"PathOnHost": "/dev/kvm"}]),
        ("HostConfig", "MaskedPaths", []),
        ("HostConfig", "ReadonlyPaths", None),
        ("HostConfig", "SomethingNew", "on"),
        ("Config", "User", ""),
        ("Config", "Env", ["A=b", "SECRET=1"]),
        ("Config", "Entrypoint", ["/bin/sh"]),
        ("Config", "StdinOnce", True),
        ("Config", "Labels", {}),
    ],
)
def test_s23_one_setting_that_is_not_as_planned_is_found(part: str, key: str, value: object) -> None:
    answer = seen()
    answer[part][key] = value
    assert any(key in phrase or key.lower()[:5] in phrase for phrase in differences(PLAN, answer))


def test_s23_another_image_is_found() -> None:
    assert differences(PLAN, {**seen(), "Image": "sha256:2"}) == ["Image: sha256:2"]


def test_s23_a_volume_that_an_image_brings_along_is_found() -> None:
    answer = seen()
    answer["Mounts"].append({"Type": "volume", "Name": "f00", "Destination": "/data", "RW": True})
    [phrase] = differences(PLAN, answer)
    assert "/data" in phrase


def test_s23_a_mount_that_became_writable_is_found() -> None:
    answer = seen()
    answer["Mounts"][1]["RW"] = True
    assert len(differences(PLAN, answer)) == 1


def test_a_difference_never_quotes_a_whole_profile() -> None:
    answer = seen()
    answer["HostConfig"]["SecurityOpt"] = ["seccomp=" + "x" * 7_000]
    assert all(len(phrase) < 400 for phrase in differences(PLAN, answer))


def test_an_empty_answer_is_all_differences() -> None:
    assert len(differences(PLAN, {})) > 20
