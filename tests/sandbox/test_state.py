"""State files: whole or not there, and the first kill stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.job import Changes, Job, Outcome, Reason, Source, State
from sandbox.state import Killed, Ready, SandboxState, Started, StateDir
from sandbox.verdict import Kill

JOB = Job(name="t-1", prompt="x", source=Source(url="https://h/o/r", bundle=b"\x00bundle"))


@pytest.fixture
def state(tmp_path: Path) -> SandboxState:
    return StateDir(tmp_path).of("t-1")


def test_nothing_is_there_before_anything_is_written(state: SandboxState, tmp_path: Path) -> None:
    answers = state.job(), state.ready(), state.started(), state.killed(), state.outcome()
    assert answers == (None,) * 5
    assert not state.exists()
    assert StateDir(tmp_path).names() == ()


def test_a_job_comes_back_without_its_bundle(state: SandboxState, tmp_path: Path) -> None:
    state.set_job(JOB)
    stored = state.job()
    assert stored is not None
    assert stored.source is not None
    assert JOB.source is not None
    assert stored.source.bundle is None
    assert stored == JOB.model_copy(update={"source": JOB.source.model_copy(update={"bundle": None})})
    assert StateDir(tmp_path).names() == ("t-1",)


def test_only_we_may_read_prompts_and_patches(state: SandboxState, tmp_path: Path) -> None:
    state.set_job(JOB)
    assert (tmp_path / "sandboxes" / "t-1").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "sandboxes" / "t-1" / "job.json").stat().st_mode & 0o777 == 0o600


def test_the_first_kill_stays(state: SandboxState) -> None:
    first = state.set_killed(Killed(reason=Kill.DEADLINE, at=1.0))
    assert state.set_killed(Killed(reason=Kill.CANCELLED, at=2.0)) == first
    assert state.killed() == first


@pytest.mark.parametrize("patch", [b"diff \xff\x00\r\n", b"", None])
def test_an_outcome_comes_back_byte_for_byte(state: SandboxState, patch: bytes | None) -> None:
    changes = Changes(base_commit="a" * 40, patch=patch, refusal="" if patch is not None else "too large")
    outcome = Outcome(state=State.FAILED, reason=Reason.DEADLINE, changes=changes, reply="\u2028 ```")
    state.set_outcome(outcome)
    assert state.outcome() == outcome


def test_a_file_that_was_not_finished_does_not_count(state: SandboxState, tmp_path: Path) -> None:
    state.set_job(JOB)
    (tmp_path / "sandboxes" / "t-1" / ".outcome.json.new").write_text('{"state": "succ')
    assert state.outcome() is None
    state.set_outcome(Outcome(state=State.LOST, reason=Reason.LOST))
    assert state.outcome() is not None


def test_a_patch_without_its_outcome_is_no_outcome(state: SandboxState, tmp_path: Path) -> None:
    state.set_job(JOB)
    (tmp_path / "sandboxes" / "t-1" / "patch").write_bytes(b"diff")
    assert state.outcome() is None


def test_remove_may_be_repeated(state: SandboxState) -> None:
    state.set_started(Started(at=1.5))
    state.set_ready(Ready(base_commit="a" * 40, workspace_id="b", boot="c"))
    state.remove()
    state.remove()
    assert not state.exists()
