"""The states of a task: onwards only, and an end from everywhere."""

from __future__ import annotations

import itertools

import pytest

from bot.tasks import LEGAL, TaskState, may_follow

# In the order of a task's life.
LIFE = [TaskState.QUEUED, TaskState.PREPARING, TaskState.RUNNING, TaskState.PUBLISHING, TaskState.DONE]


def test_every_state_is_in_the_table() -> None:
    assert set(LEGAL) == set(TaskState) == set(LIFE)


@pytest.mark.parametrize(("earlier", "later"), list(itertools.combinations(LIFE, 2)))
def test_no_state_goes_back(earlier: TaskState, later: TaskState) -> None:
    assert not may_follow(later, earlier)


@pytest.mark.parametrize("state", LIFE)
def test_staying_is_no_step_and_every_task_can_end(state: TaskState) -> None:
    assert not may_follow(state, state)
    assert state is TaskState.DONE or may_follow(state, TaskState.DONE)


def test_an_agent_runs_only_in_what_was_prepared() -> None:
    assert [state for state in LIFE if may_follow(state, TaskState.RUNNING)] == [TaskState.PREPARING]
