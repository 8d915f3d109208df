"""Capped file systems for dependencies on real loop devices: whole or not at all, and nothing left behind."""

from __future__ import annotations

import pytest

from tests.sandbox.inside.helpers import SIZE, Helpers

KEY, DRAFT, OTHER = "0123456789abcdef0123", "aaaaaaaa", "bbbbbbbb"
AGENT = "65532:65532"


@pytest.mark.engine
def test_a_draft_is_capped_and_becomes_whole_once(helpers: Helpers) -> None:
    made, second, nothing, names = helpers.stores(
        ["deps", "make", KEY, DRAFT, SIZE, "2000"],
        ["deps", "make", KEY, OTHER, SIZE, "2000"],
        ["deps", "attach", KEY],
        ["list"],
    )
    assert nothing == {"device": "", "bytes": 0}
    assert names == {"names": []}  # it is no sandbox's
    draft = helpers.volume(made["device"])
    script = "echo first >/deps/which && dd if=/dev/zero of=/deps/big bs=1M count=100 2>&1 | head -1; rm /deps/big"
    filled = helpers.run(["sh", "-c", script], AGENT, {"/deps": draft})
    assert b"No space left on device" in filled.out
    other = helpers.volume(second["device"])
    helpers.run(["sh", "-c", "echo second >/deps/which"], AGENT, {"/deps": other})
    answers = helpers.stores(
        ["deps", "seal", KEY, DRAFT],
        ["deps", "seal", KEY, OTHER],
        ["deps", "seal", KEY, OTHER],
        ["deps", "attach", KEY],
        ["deps", "attach", KEY],
    )
    assert answers[:3] == [{}, {}, {}]
    assert answers[3] == answers[4]
    assert 0 < answers[3]["bytes"] < int(SIZE)
    whole = helpers.volume(options={"type": "ext4", "device": answers[3]["device"], "o": "ro,nosuid,nodev"})
    read = helpers.run(["sh", "-c", "cat /deps/which; touch /deps/x 2>&1"], AGENT, {"/deps": whole})
    assert b"first" in read.out
    assert b"Read-only file system" in read.out
    left = helpers.on_devices(["sh", "-c", "python3 -I -m sandbox.inside.store deps clear; ls /images/deps; losetup"])
    assert b".deps/" not in left.out
    assert left.out.splitlines()[0] == b"{}"
    assert KEY.encode() not in left.out


@pytest.mark.engine
def test_a_dropped_draft_leaves_nothing_and_a_wrong_name_is_refused(helpers: Helpers) -> None:
    answers = helpers.stores(
        ["deps", "make", KEY, DRAFT, SIZE, "2000"],
        ["deps", "drop", KEY, DRAFT],
        ["deps", "drop", KEY, DRAFT],
        ["deps", "attach", KEY],
        ["deps", "seal", KEY, DRAFT],
        ["deps", "make", "../x", DRAFT, SIZE, "2000"],
        ["deps", "make", KEY, "../../x", SIZE, "2000"],
        ["deps", "make", KEY, OTHER, str(1 << 60), "2000"],
        ["deps", "remove", KEY],
    )
    assert [*answers[1:3], answers[8]] == [{}, {}, {}]
    assert answers[3]["device"] == ""
    assert "are gone" in answers[4]["error"]
    assert "20 hexadecimal digits" in answers[5]["error"]
    assert "hexadecimal digits" in answers[6]["error"]
    assert "not enough disk space" in answers[7]["error"]
    assert b"draft" not in helpers.on_devices(["ls", "/images/deps"]).out
