"""A task's row as a value, for what is pure."""

from __future__ import annotations

from bot.store import Task
from bot.tasks import Request, TaskState
from bot.work import Work
from tests.bot.requests import a_request


def a_task(
    task_id: str = "0123456789",
    request: Request | None = None,
    *,
    seq: int = 1,
    state: TaskState = TaskState.PUBLISHING,
    work: Work | None = None,
    status_comment_id: int | None = None,
    started_at: float | None = 0.0,
) -> Task:
    return Task(
        task_id=task_id,
        seq=seq,
        request=request or a_request(),
        state=state,
        ending=None,
        handle=None,
        status_comment_id=status_comment_id,
        result_comment_id=None,
        shown_position=None,
        worker="gofer",
        lease_until=0.0,
        fence=1,
        attempts=0,
        retries=0,
        cancel_requested=False,
        created_at=0.0,
        admitted_at=0.0,
        started_at=started_at,
        finished_at=None,
        work=work or Work(),
    )
