"""A task becomes a job, an outcome becomes an ending."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.jobs import ending_of, fetched_from, job_for, names_a_task, never_ran, not_prepared, sandbox_name
from sandbox import Changes, Limits, Outcome, Reason, Setup, Source, State

SOURCE = Source(url="https://ghes.test/octo/repo1")


def outcome(state: State, reason: Reason, patch: bytes | str | None = "none") -> Outcome:
    changes = None if isinstance(patch, str) else Changes(base_commit="a" * 40, patch=patch)
    return Outcome(state=state, reason=reason, changes=changes, duration_seconds=1.0)


@pytest.mark.parametrize(
    ("given_", "ending"),
    [
        (outcome(State.SUCCEEDED, Reason.OK, b"diff"), "changed"),
        (outcome(State.SUCCEEDED, Reason.OK, b""), "no_change"),
        (outcome(State.SUCCEEDED, Reason.OK, None), "failed"),
        (outcome(State.SUCCEEDED, Reason.OK), "failed"),
        (outcome(State.FAILED, Reason.EXIT, b"diff"), "failed"),
        (outcome(State.FAILED, Reason.DEADLINE, b"diff"), "timed_out"),
        (outcome(State.FAILED, Reason.CANCELLED, b"diff"), "cancelled"),
        (outcome(State.LOST, Reason.LOST, b"diff"), "lost"),
        (outcome(State.LOST, Reason.DEADLINE, b"diff"), "lost"),
    ],
)
def test_ending_follows_verdict_and_patch(given_: Outcome, ending: str) -> None:
    assert ending_of(given_) == ending


@given(st.text(min_size=1, max_size=50))
def test_name_of_a_sandbox_holds_nobody_s_text(prompt: str) -> None:
    job = job_for("0123456789", prompt=prompt, source=SOURCE, model="m", limits=Limits())
    assert job.name == "t0123456789"
    assert names_a_task(job.name)


def test_job_is_what_was_decided_and_no_more() -> None:
    setup = Setup(commands=("make deps",))
    job = job_for(
        "0123456789", prompt="fix the typo", source=SOURCE, limits=Limits(pids=7), model="m", agent="codex", setup=setup
    )
    assert (job.source, job.model, job.agent, job.setup) == (SOURCE, "m", "codex", setup)
    assert (job.limits.pids, job.prompt) == (7, "fix the typo")


def test_agent_that_nobody_named_stays_open_for_a_runner_elsewhere() -> None:
    job = job_for("0123456789", prompt="p", source=SOURCE, limits=Limits())
    assert "agent" not in job.model_fields_set


def test_the_same_job_under_the_name_that_the_repository_has_got() -> None:
    job = job_for("0123456789", prompt="p", source=SOURCE.model_copy(update={"ref": "b"}), limits=Limits())
    moved = fetched_from(job, "https://ghes.test", "octo", "renamed")
    assert moved.source is not None
    assert (moved.source.url, moved.source.ref) == ("https://ghes.test/octo/renamed", "b")


def test_names_of_others_are_not_ours() -> None:
    assert not any(names_a_task(name) for name in ("run-0123456789ab", "t012345678", "t0123456789a", "tABCDEF0123"))
    assert sandbox_name("0123456789") == "t0123456789"


def test_task_that_never_ran_is_told_from_one_that_did() -> None:
    assert never_ran(not_prepared(Reason.FETCH_FAILED, "x"))
    assert not never_ran(outcome(State.FAILED, Reason.EXIT))
    assert not never_ran(Outcome(state=State.LOST, reason=Reason.LOST))
