"""State files: a workspace apart from its tasks, each task whole or not there, and the first kill stays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox.job import Attachment, ChangedFile, Changes, Job, Outcome, Reason, Source, State
from sandbox.state import (
    KEPT_TASKS,
    Filling,
    Killed,
    Ready,
    SandboxState,
    Saved,
    Started,
    StateDir,
    TaskState,
    Used,
    Workspace,
)
from sandbox.verdict import Kill

SOURCE = Source(url="https://h/o/r", bundle=b"\x00bundle", patch=b"diff")
BARE = SOURCE.model_copy(update={"bundle": None, "patch": None})
JOB = Job(name="t-1", prompt="x", source=SOURCE)
WORKSPACE = Workspace(base_commit="a" * 40, id="b", boot="c", source=SOURCE)
LOST = Outcome(state=State.LOST, reason=Reason.LOST)


@pytest.fixture
def state(tmp_path: Path) -> SandboxState:
    return StateDir(tmp_path).of("t-1")


def nothing(task: TaskState) -> bool:
    answers = task.job(), task.ready(), task.started(), task.killed(), task.outcome()
    return answers == (None,) * 5 and not task.ended() and not task.driven()


def test_nothing_is_there_before_anything_is_written(state: SandboxState, tmp_path: Path) -> None:
    assert nothing(state.task())
    assert (state.filling(), state.workspace(), state.snapshot(), state.used()) == (None,) * 4
    assert not state.exists()
    assert StateDir(tmp_path).names() == ()


def test_a_kill_without_a_task_leaves_nothing(state: SandboxState) -> None:
    state.task().set_killed(Killed(reason=Kill.CANCELLED, at=1.0))
    assert not state.exists()


def test_a_job_and_a_workspace_come_back_without_their_bundle(state: SandboxState, tmp_path: Path) -> None:
    state.set_filling(Filling(source=SOURCE))
    state.new_task(JOB.model_copy(update={"attachments": (Attachment(name="image-1.png", data=b"x"),)}))
    state.set_workspace(WORKSPACE)
    assert state.task().job() == JOB.model_copy(update={"source": BARE})
    assert state.workspace() == WORKSPACE.model_copy(update={"source": BARE})
    assert state.filling() == Filling(source=BARE)
    assert StateDir(tmp_path).names() == ("t-1",)


def test_only_we_may_read_prompts_and_patches(state: SandboxState, tmp_path: Path) -> None:
    state.new_task(JOB)
    folder = tmp_path / "sandboxes" / "t-1"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "tasks" / "000001").stat().st_mode & 0o777 == 0o700
    assert (folder / "tasks" / "000001" / "job.json").stat().st_mode & 0o777 == 0o600


def test_the_newest_task_is_the_present_one_and_a_few_are_kept(state: SandboxState, tmp_path: Path) -> None:
    for number in range(1, KEPT_TASKS + 4):
        task = state.new_task(JOB, driven=number % 2 == 0)
        assert (task.name, state.task().name) == (f"{number:06}",) * 2
        assert (task.driven(), task.ended()) == (number % 2 == 0, False)
        task.set_outcome(LOST)
    kept = sorted(entry.name for entry in (tmp_path / "sandboxes" / "t-1" / "tasks").iterdir())
    assert kept == [f"{number:06}" for number in range(4, KEPT_TASKS + 4)]


def test_of_two_that_begin_at_once_one_wins(state: SandboxState) -> None:
    def begin(number: int) -> bool:
        try:
            state.new_task(JOB.model_copy(update={"prompt": str(number)}))
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(begin, range(8)))
    job = state.task().job()
    assert job is not None
    assert won[int(job.prompt)]
    assert state.task().name == f"{sum(won):06}"


def test_a_task_that_was_never_begun_leaves_the_former_one(state: SandboxState) -> None:
    state.new_task(JOB).set_outcome(LOST)
    state.new_task(JOB)
    state.drop_task()
    assert state.task().outcome() == LOST


def test_the_first_kill_stays(state: SandboxState) -> None:
    task = state.new_task(JOB)
    first = task.set_killed(Killed(reason=Kill.DEADLINE, at=1.0))
    assert task.set_killed(Killed(reason=Kill.CANCELLED, at=2.0)) == first
    assert task.killed() == first


@pytest.mark.parametrize("patch", [b"diff \xff\x00\r\n", b"", None])
def test_an_outcome_comes_back_byte_for_byte(state: SandboxState, patch: bytes | None) -> None:
    changes = Changes(base_commit="a" * 40, patch=patch, refusal="" if patch is not None else "too large")
    outcome = Outcome(state=State.FAILED, reason=Reason.DEADLINE, changes=changes, reply="\u2028 ```")
    task = state.new_task(JOB)
    task.set_outcome(outcome)
    assert task.outcome() == outcome


FILES = (
    ChangedFile(path="a", status="added", new_mode="100644", raw_path=b"a", content=b"one\r\n\x00\xff"),
    ChangedFile(path="b", status="added", new_mode="100644", raw_path=b"b", content=b""),
    ChangedFile(path="\\xff", status="deleted", old_mode="100644", raw_path=b"\xff"),
    ChangedFile(path="big", status="modified", new_mode="100644", raw_path=b"big", content=None),
    ChangedFile(path="z", status="modified", new_mode="120000", raw_path=b"z", content=b"target"),
)


def with_files(state: SandboxState) -> tuple[TaskState, Outcome]:
    changes = Changes(base_commit="a" * 40, patch=b"diff", files=FILES)
    outcome = Outcome(state=State.SUCCEEDED, reason=Reason.OK, changes=changes)
    task = state.new_task(JOB)
    task.set_outcome(outcome)
    return task, outcome


def test_what_the_files_hold_comes_back_byte_for_byte_and_is_not_in_the_json(
    state: SandboxState, tmp_path: Path
) -> None:
    task, outcome = with_files(state)
    assert task.outcome() == outcome
    folder = tmp_path / "sandboxes" / "t-1" / "tasks" / "000001"
    assert (folder / "contents").read_bytes() == b"one\r\n\x00\xfftarget"
    assert '"content":null' in (folder / "outcome.json").read_text().replace(" ", "")
    assert (folder / "contents").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("left", [b"one\r\n\x00\xfftarge", b"", None])
def test_contents_that_are_not_as_they_were_written_are_not_given_out(
    state: SandboxState, tmp_path: Path, left: bytes | None
) -> None:
    task, outcome = with_files(state)
    folder = tmp_path / "sandboxes" / "t-1" / "tasks" / "000001"
    if left is None:
        (folder / "contents.json").write_text('{"lengths": [1]}')
    else:
        (folder / "contents").write_bytes(left)
    found = task.outcome()
    assert found is not None
    assert found.changes is not None
    assert [file.content for file in found.changes.files] == [None] * 5
    assert outcome.changes is not None
    assert found.changes.patch == b"diff"


def test_a_file_or_a_task_that_was_not_finished_does_not_count(state: SandboxState, tmp_path: Path) -> None:
    task = state.new_task(JOB)
    folder = tmp_path / "sandboxes" / "t-1" / "tasks"
    (folder / "000001" / ".outcome.json.new").write_text('{"state": "succ')
    (folder / ".abcd.new").mkdir()
    (folder / ".abcd.new" / "job.json").write_text("{")
    assert (task.outcome(), state.task().name) == (None, "000001")
    task.set_outcome(LOST)
    assert state.task().outcome() == LOST


def test_a_patch_without_its_outcome_is_no_outcome(state: SandboxState, tmp_path: Path) -> None:
    task = state.new_task(JOB)
    (tmp_path / "sandboxes" / "t-1" / "tasks" / "000001" / "patch").write_bytes(b"diff")
    assert (task.outcome(), task.ended()) == (None, False)


@pytest.mark.parametrize("keep", [True, False])
def test_remove_may_be_repeated_and_may_leave_the_snapshot(state: SandboxState, keep: bool) -> None:
    saved = Saved(
        id="s", size=1, digests={"ws": "x", "clean": "y"}, workspace=WORKSPACE.model_copy(update={"source": BARE})
    )
    task = state.new_task(JOB)
    task.set_started(Started(at=1.5))
    task.set_ready(Ready(boot="c"))
    state.set_workspace(WORKSPACE)
    state.set_used(Used(at=3.0))
    state.set_snapshot(saved)
    state.remove(keep_snapshot=keep)
    state.remove(keep_snapshot=keep)
    assert nothing(state.task())
    assert (state.workspace(), state.used()) == (None, None)
    assert (state.exists(), state.snapshot()) == (keep, saved if keep else None)
