"""Rows to values and back. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import RowMapping

from bot.store import contents
from bot.tasks import Ending, Request, TaskState
from bot.work import Work
from sandbox import Outcome


@dataclass(frozen=True)
class Task:
    """One row of ``tasks`` as it was when it was read; times are seconds since the epoch.

    ``fence`` is the claim under which it was read: every write with it is refused once somebody else has claimed
    the task.
    """

    task_id: str
    seq: int
    request: Request
    state: TaskState
    ending: Ending | None
    handle: str | None
    status_comment_id: int | None
    result_comment_id: int | None
    shown_position: int | None
    worker: str | None
    lease_until: float
    fence: int
    attempts: int
    retries: int
    cancel_requested: bool
    created_at: float
    admitted_at: float | None
    started_at: float | None
    finished_at: float | None
    work: Work = field(default_factory=Work)


def clean(text: str) -> str:
    """Without NULs, which PostgreSQL refuses, and lone surrogates, which no UTF-8 can carry."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode("utf-8")


def cleaned(value: Any) -> Any:
    """``clean`` for every string in a JSON-like value, keys included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    return value


def task_of(row: RowMapping) -> Task:
    """A row of ``tasks`` as a value."""
    names = Task.__dataclass_fields__
    plain = {name: row[name] for name in names if name not in {"request", "state", "work"}}
    return Task(
        request=Request.model_validate_json(row["request"]),
        state=TaskState(row["state"]),
        work=Work.model_validate_json(row["work"]) if row["work"] else Work(),
        **plain,
    )


def columns_of(request: Request) -> dict[str, Any]:
    """The columns that a new task takes from its request."""
    return {
        "delivery_id": clean(request.delivery_id),
        "content_key": clean(request.content_key),
        "request": _cleaned_json(request),
        "verb": request.command.verb.value,
        "repository_id": request.repository.id,
        "thread": request.thread,
        "installation_id": request.installation_id,
        "comment_id": request.comment_id,
        "sender_id": request.sender.id,
    }


def work_column(work: Work) -> str:
    """As JSON that both databases take."""
    return json.dumps(cleaned(work.model_dump(mode="json", exclude_defaults=True)))


def _cleaned_json(request: Request) -> str:
    """A request as JSON. It cannot hold a lone surrogate (pydantic refuses them), and a NUL only as an escape."""
    body = request.model_dump_json()
    return json.dumps(cleaned(json.loads(body))) if "\\u0000" in body else body


def outcome_columns(outcome: Outcome) -> tuple[str, bytes | None, bytes | None]:
    """An outcome as JSON without its patch and files' contents, and these as they are: bytes."""
    changes = outcome.changes
    body = contents.without(outcome).model_dump(mode="json")
    return (
        json.dumps(cleaned(body)),
        changes.patch if changes else None,
        contents.pack(changes.files) if changes else None,
    )


def outcome_of(body: str, patch: bytes | None, packed: bytes | None = None) -> Outcome:
    """The reverse of ``outcome_columns``. Raises ``ValueError`` for what is damaged."""
    outcome = Outcome.model_validate_json(body)
    if outcome.changes is None or patch is None:
        return outcome
    files = contents.unpack(outcome.changes.files, packed)
    changes = outcome.changes.model_copy(update={"patch": patch, "files": files})
    return outcome.model_copy(update={"changes": changes})
