"""What is said of a task in the API's own words."""

from __future__ import annotations

import pytest

from sandbox import Outcome, Reason, State
from sandbox.api.wire import Task, task_of


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome(state=State.SUCCEEDED, reason=Reason.OK, reply="Done."), '{"state":"succeeded","result":"Done."}'),
        (Outcome(state=State.SUCCEEDED, reason=Reason.NO_REPLY), '{"state":"succeeded","result":""}'),
        (Outcome(state=State.FAILED, reason=Reason.EXIT, error="exit 3"), '{"state":"failed","error":"exit 3"}'),
        (Outcome(state=State.LOST, reason=Reason.LOST, error="gone"), '{"state":"lost","error":"gone"}'),
    ],
)
def test_an_ended_task(outcome: Outcome, expected: str) -> None:
    assert task_of(outcome).shown() == expected


def test_a_task_that_runs_has_neither_result_nor_error() -> None:
    assert Task(state="running").shown() == '{"state":"running"}'
