"""The command of the extractor fails closed: an error is an error line and exit status 1, never "no change"."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.inside import extract, fetch
from sandbox.inside.bounds import Deadline, Failed
from tests.sandbox.inside.bases import bundle

LIMITS = extract.Limits(1 << 20, 100)


@pytest.fixture
def ready(tmp_path: Path) -> tuple[Path, Path]:
    """A workspace and its clean side, fetched from a bundle and given their ids."""
    workspace, clean = tmp_path / "ws", tmp_path / "clean"
    (workspace / "repo").mkdir(parents=True)
    (clean / "data").mkdir(parents=True)
    source = tmp_path / "bundle"
    source.write_bytes(bundle("plain"))
    fetch.fetch(fetch.Wanted("", None, None, "", 120, source), workspace, clean, Deadline.after(120))
    for side in (workspace, clean):
        (side / "id").write_text("0123456789abcdef")
    return workspace, clean


def run(ready: tuple[Path, Path], folder: Path) -> extract.Extracted:
    folder.mkdir()
    return extract.extract(*ready, folder, LIMITS, Deadline.after(120))


def test_it_works_at_all(ready: tuple[Path, Path], tmp_path: Path) -> None:
    (ready[0] / "repo" / "new.txt").write_text("new\n")
    done = run(ready, tmp_path / "x")
    assert done.header["refusal"] == ""
    assert b"+new\n" in (done.patch or b"")


@pytest.mark.parametrize("broken", ["wrong", "gone", "empty", "both empty"])
def test_a_missing_or_wrong_id_is_an_error_never_a_diff(ready: tuple[Path, Path], tmp_path: Path, broken: str) -> None:
    place = ready[0] / "id"
    if broken == "gone":
        place.unlink()
    else:
        place.write_text("fedcba9876543210" if broken == "wrong" else "")
    if broken == "both empty":
        (ready[1] / "id").write_text("")
    with pytest.raises(Failed, match="id is missing or wrong"):
        run(ready, tmp_path / "x")


def test_an_id_that_is_a_link_to_the_other_is_an_error(ready: tuple[Path, Path], tmp_path: Path) -> None:
    (ready[0] / "id").unlink()
    (ready[0] / "id").symlink_to(ready[1] / "id")
    with pytest.raises(Failed, match="id is missing or wrong"):
        run(ready, tmp_path / "x")


@pytest.mark.parametrize("name", ["base.json", "manifest", "git/objects"])
def test_a_broken_clean_side_is_an_error(ready: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    target = ready[1] / "data" / name
    target.rename(target.with_name("away"))
    with pytest.raises((Failed, OSError)):
        run(ready, tmp_path / "x")


def test_a_manifest_of_another_commit_is_an_error(ready: tuple[Path, Path], tmp_path: Path) -> None:
    target = ready[1] / "data" / "manifest"
    target.write_bytes(b"".join(record + b"\0" for record in target.read_bytes().split(b"\0")[1:-1]))
    with pytest.raises(Failed, match="do not list the same files"):
        run(ready, tmp_path / "x")


@pytest.mark.parametrize(
    "record", ['{"base_commit": "HEAD"}', '{"base_commit": 1}', "[]", "{", '{"base_commit": "--output=x"}']
)
def test_g25_a_base_that_is_no_commit_id_is_an_error(ready: tuple[Path, Path], tmp_path: Path, record: str) -> None:
    (ready[1] / "data" / "base.json").write_text(record)
    with pytest.raises(Failed, match="record of the base commit"):
        run(ready, tmp_path / "x")


def test_out_of_time_is_a_refusal_in_words(ready: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(Exception, match=r"longer than|within"):
        extract.extract(*ready, tmp_path / "x", LIMITS, Deadline.after(0))


@pytest.mark.parametrize("argv", [[], ["1"], ["1", "2"], ["1", "2", "3", "4"], ["a", "b", "c"], ["1000", "10", "1000"]])
def test_the_command_fails_closed(argv: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert extract.main(argv) == 1  # there is no /ws here
    line = json.loads(capsysbinary.readouterr().out)
    assert line.keys() == {"error"}
    assert line["error"]


def test_g26_running_it_again_gives_the_same(ready: tuple[Path, Path], tmp_path: Path) -> None:
    (ready[0] / "repo" / "new.txt").write_text("new\n")
    assert run(ready, tmp_path / "x") == run(ready, tmp_path / "y")
