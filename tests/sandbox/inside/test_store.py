"""Images on loop devices: caps that hold, commands that may be repeated, nothing left behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox.inside.bounds import Failed
from sandbox.inside.loop import MAX_TAG_BYTES
from sandbox.inside.store import ROLES, Size, Store, run
from tests.sandbox.inside.helpers import SIZE, Helpers

IDENTITY = "0123456789abcdef"
MAKE = ["make", "one", SIZE, "2000", SIZE, "2000", IDENTITY]
PARALLEL_MAKES = 4


def make(helpers: Helpers, name: str) -> dict[str, str]:
    done = helpers.store("make", name, SIZE, "2000", SIZE, "2000", IDENTITY)
    assert done.code == 0, done.line
    return done.line


@pytest.mark.engine
def test_caps_on_bytes_and_inodes_hold_and_the_root_is_not_the_agents(helpers: Helpers) -> None:
    devices = make(helpers, "one")
    workspace, clean = helpers.volume(devices["ws"]), helpers.volume(devices["clean"])
    script = (
        "stat -c '%n %u %a' /ws /ws/id /ws/repo /clean/data; cat /ws/id /clean/id; echo;"
        " touch /ws/x 2>&1; rm -f /ws/id 2>&1; mv /ws/repo /ws/other 2>&1;"
        " dd if=/dev/zero of=/ws/repo/big bs=1M count=100 2>&1 | head -1; rm /ws/repo/big;"
        " cd /ws/repo; for n in $(seq 1 40); do seq -f $n.%g 1 100 | xargs touch 2>/dev/null || break; done; ls | wc -l"
    )
    # Less memory than the cap on bytes: a full workspace is "disk full" and no kill for memory.
    done = helpers.run(
        ["bash", "-c", script], "65532:65532", {"/ws": workspace, "/clean": clean}, mem_limit="48m", memswap_limit="48m"
    )
    lines = done.out.decode().splitlines()
    assert done.code == 0
    assert lines[:4] == ["/ws 0 755", "/ws/id 0 444", "/ws/repo 65532 755", "/clean/data 65532 755"]
    assert lines[4] == IDENTITY * 2
    assert [line.rsplit(": ", 1)[1] for line in lines[5:8]] == ["Permission denied"] * 3
    assert "No space left on device" in lines[8]
    assert 1900 < int(lines[9]) < 2048


@pytest.mark.engine
def test_commands_may_be_repeated(helpers: Helpers) -> None:
    make, attach, remove, names = MAKE, ["attach", "one"], ["remove", "one"], ["list"]
    answers = helpers.stores(make, make, names, attach, remove, names, remove, names, attach)
    assert answers[0].keys() == answers[1].keys() == answers[3].keys() == {"ws", "clean"}
    assert answers[3] == answers[1]
    assert [answers[index] for index in (2, 4, 5, 6, 7)] == [{"names": ["one"]}, {}, {"names": []}, {}, {"names": []}]
    assert answers[8] == {"error": "there is no image for the ws volume of one"}


@pytest.mark.engine
def test_no_other_user_of_the_machine_reads_an_image(helpers: Helpers) -> None:
    make(helpers, "one")
    saved = helpers.store("snapshot", "one", IDENTITY)
    assert helpers.store("deps", "make", "0" * 20, "0" * 8, SIZE, "2000").code == saved.code == 0
    seen = helpers.on_devices(["find", "/images", "-mindepth", "1", "-perm", "/077"])
    assert helpers.on_devices(["find", "/images", "-name", "*.img", "-o", "-name", "*.draft"]).out.count(b"\n") == 3
    assert seen.out == b""


@pytest.mark.engine
def test_after_a_restart_of_the_host_the_files_are_there_again(helpers: Helpers) -> None:
    devices = make(helpers, "one")
    helpers.on_devices(["losetup", "-d", *devices.values()])  # as a restart does
    again = helpers.store("attach", "one")
    assert again.code == 0
    workspace = helpers.volume(again.line["ws"])
    assert helpers.run(["cat", "/ws/id"], "65532:65532", {"/ws": workspace}).out.decode() == IDENTITY
    assert helpers.store("attach", "one").line == again.line


@pytest.mark.engine
def test_a_device_whose_image_is_gone_is_found_by_its_tag(helpers: Helpers) -> None:
    devices = make(helpers, "one")
    helpers.on_devices(["rm", "/images/one.ws.img", "/images/one.clean.img"])
    assert helpers.stores(["list"], ["remove", "one"], ["list"]) == [{"names": ["one"]}, {}, {"names": []}]
    left = helpers.on_devices(["losetup", "-n", "-O", "BACK-FILE", *devices.values()]).out.decode()
    assert "one." not in left


@pytest.mark.engine
def test_makes_at_the_same_time_get_devices_of_their_own(helpers: Helpers) -> None:
    names = [f"n{number}" for number in range(PARALLEL_MAKES)]
    with ThreadPoolExecutor(PARALLEL_MAKES) as pool:
        made = list(pool.map(lambda name: make(helpers, name), names))
    devices = [device for pair in made for device in pair.values()]
    assert len(set(devices)) == 2 * PARALLEL_MAKES
    assert helpers.store("list").line == {"names": names}


@pytest.mark.engine
def test_a_size_that_cannot_be_made_leaves_nothing(helpers: Helpers) -> None:
    small = ["make", "one", str(4 << 20), "400000", SIZE, "2000", IDENTITY]
    huge = ["make", "one", str(1 << 50), "1000", SIZE, "2000", IDENTITY]
    first, after, second, last = helpers.stores(small, ["list"], huge, ["list"])
    assert "mkfs.ext4 failed" in first["error"]
    assert "not enough disk space" in second["error"]
    assert after == last == {"names": []}


@pytest.mark.parametrize("name", ["", "a.b", "../x", "A", "-a", "a-", "x" * 64, "a/b", "a\n"])
def test_names_that_are_none_of_ours_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Failed, match="the name is not"):
        Store(tmp_path, tmp_path).remove(name)


def test_the_longest_name_has_a_tag_that_fits(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path)
    tags = {store._tag("x" * 63, role) for role in ROLES}
    assert len(tags) == 2
    assert {len(tag) for tag in tags} == {MAX_TAG_BYTES}


def test_the_disk_keeps_its_floor_and_every_promise(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path)
    with (tmp_path / "other.ws.img").open("wb") as out:
        out.truncate(1 << 43)  # sparse: promised, not written
    with pytest.raises(Failed, match="8,388,608 MiB promised to others"):
        store.make("one", {"ws": Size(1 << 20, 100), "clean": Size(1 << 20, 100)}, IDENTITY)
    assert not (tmp_path / "one.ws.img").exists()


@pytest.mark.parametrize("argv", [[], ["make", "x"], ["list", "x"], ["frobnicate"]])
def test_other_commands_are_refused(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(Failed, match="usage"):
        run(Store(tmp_path, tmp_path), argv)
