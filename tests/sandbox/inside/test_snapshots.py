"""Saved workspaces: whole or not at all, and restored only as what was saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.inside import snapshots
from sandbox.inside.bounds import Failed
from sandbox.inside.store import Store
from tests.sandbox.inside.helpers import SIZE, Helpers

ONE, OTHER, NEW_ID = "1" * 16, "2" * 16, "feedfacefeedface"
MAKE = ["make", "one", SIZE, "2000", SIZE, "2000", "0123456789abcdef"]
FILL = "echo work > /ws/repo/work.txt; mkdir /ws/repo/d; ln -s ../work.txt /ws/repo/d/link; echo base > /clean/data/b"


@pytest.mark.engine
def test_a_copy_has_the_files_and_an_id_of_its_own(helpers: Helpers) -> None:
    made = helpers.stores(MAKE)[0]
    mounts = {"/ws": helpers.volume(made["ws"]), "/clean": helpers.volume(made["clean"])}
    assert helpers.run(["sh", "-c", FILL], "65532:65532", mounts).code == 0
    saved = helpers.store("snapshot", "one", ONE).line
    assert 0 < saved["size"] < 4 << 20, "sparse"
    digests = saved["digests"]["ws"], saved["digests"]["clean"]
    helpers.run(["rm", "/ws/repo/work.txt"], "65532:65532", mounts)
    again = helpers.store("restore", "one", ONE, "two", *digests, NEW_ID)
    assert again.code == 0, again.line
    copies = {"/ws": helpers.volume(again.line["ws"]), "/clean": helpers.volume(again.line["clean"])}
    look = (
        "cat /ws/repo/work.txt /ws/repo/d/link /clean/data/b /ws/id /clean/id; echo;"
        " stat -c '%u %g %a' /ws/id /clean/id /ws/repo; echo more >> /ws/repo/work.txt"
    )
    shown = helpers.run(["sh", "-c", look], "65532:65532", copies)
    assert shown.out.decode().splitlines() == [
        *("work", "work", "base", NEW_ID * 2),
        *("0 0 444", "0 0 444", "65532 65532 755"),
    ]
    third = helpers.store("restore", "one", ONE, "three", *digests, NEW_ID)
    assert third.code == 0, "a copy that is worked on changes nothing of what was saved"
    assert helpers.store("list").line == {"names": ["one", "three", "two"]}


@pytest.mark.engine
def test_gone_or_damaged_is_an_error_and_leaves_nothing(helpers: Helpers) -> None:
    helpers.stores(MAKE)
    saved = helpers.store("snapshot", "one", ONE).line
    digests = saved["digests"]["ws"], saved["digests"]["clean"]
    gone = helpers.store("restore", "one", OTHER, "two", *digests, NEW_ID)
    assert gone.line == {"error": "it is not there any more"}
    damage = "printf x | dd of=/images/one.clean.1111111111111111.snap bs=1 seek=70000 conv=notrunc 2>/dev/null"
    assert helpers.on_devices(["sh", "-c", damage]).code == 0
    assert helpers.store("restore", "one", ONE, "two", *digests, NEW_ID).line == {"error": "it is damaged"}
    assert helpers.store("list").line == {"names": ["one"]}
    assert b"two" not in helpers.on_devices(["ls", "/images"]).out


@pytest.mark.engine
def test_a_newer_one_replaces_an_older_and_empty_keeps_it(helpers: Helpers) -> None:
    answers = helpers.stores(
        MAKE, ["snapshot", "one", ONE], ["snapshot", "one", OTHER], ["drop", "one", OTHER], ["empty", "one"], ["list"]
    )
    assert answers[3:] == [{}, {}, {"names": ["one"]}]
    assert sorted(helpers.on_devices(["ls", "/images"]).out.decode().split()) == [
        "one.clean.2222222222222222.snap",
        "one.ws.2222222222222222.snap",
    ]
    assert helpers.stores(["remove", "one"], ["list"]) == [{}, {"names": []}]
    assert helpers.on_devices(["ls", "/images"]).out == b""


def store_with(tmp_path: Path, *files: str) -> Store:
    for file in files:
        (tmp_path / file).write_bytes(b"x")
    return Store(tmp_path, tmp_path)


def test_half_a_snapshot_is_none(tmp_path: Path) -> None:
    store = store_with(tmp_path, "one.ws.img")
    with pytest.raises(Failed, match="no image for the clean"):
        store.snapshot("one", ONE)
    assert [path.name for path in tmp_path.iterdir()] == ["one.ws.img"]


def test_what_a_killed_helper_left_is_found_and_dropped(tmp_path: Path) -> None:
    store = store_with(tmp_path, "one.ws.1111111111111111.snap.draft", "one.ws.2222222222222222.snap", "on.ws.img")
    (tmp_path / ".store").write_text("01234567")
    assert store.list() == ["on", "one"]
    store.drop("one", OTHER)
    assert sorted(path.name for path in tmp_path.glob("on*")) == ["on.ws.img", "one.ws.2222222222222222.snap"]


def test_the_disk_keeps_its_floor(tmp_path: Path) -> None:
    store = store_with(tmp_path, "one.ws.img", "one.clean.img")
    with (tmp_path / "other.ws.img").open("wb") as out:
        out.truncate(1 << 43)
    with pytest.raises(Failed, match="not enough disk space"):
        store.snapshot("one", ONE)


@pytest.mark.parametrize("identity", ["", "../../../etc/x", "1" * 15, "G" * 16, "1" * 17])
def test_ids_that_are_none_are_refused(tmp_path: Path, identity: str) -> None:
    with pytest.raises(Failed, match="snapshot's id"):
        snapshots.path(tmp_path / "one.ws.img", identity)
