"""One label, put on once, is one task, whether its webhook brought it or a look found it. Runs inside a transaction of
`Store`.

The content key of a label names the thread's time of change, and a look has only the time of the label's own event. The
two are the same where nothing else has touched the thread in that second, and the unique key decides. Where they are
not, this does: a request that a look found is no task where the same label has asked at about that time or since, and
one that a webhook brings is none where a look has found the same label at about that time. What remains is a webhook
whose thread was changed ``ABOUT`` and more after the label and before the webhook was made.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from bot.store.schema import tasks
from bot.tasks import FOUND, Request

t = tasks.c

# Between a label's event and the time of change in its webhook. GitHub makes both within a second or two; nobody takes
# a label off and puts it on again for another task so soon.
ABOUT = timedelta(seconds=10)
# Label tasks of one thread that are looked through, the newest first.
LOOKED_AT = 100


def asked(connection: Connection, repository_id: int, thread: int, label: str) -> list[Request]:
    """The requests of this label on this thread, the newest first. Case does not count."""
    wanted = (
        select(t.request)
        .where(t.repository_id == repository_id, t.thread == thread, t.content_key.startswith("label:"))
        .order_by(t.seq.desc())
        .limit(LOOKED_AT)
    )
    found = (Request.model_validate_json(body) for body in connection.execute(wanted).scalars())
    return [one for one in found if (one.label or "").lower() == label.lower()]


def last_asked(connection: Connection, repository_id: int, thread: int, label: str) -> datetime | None:
    """When this label was put on last, as far as tasks tell."""
    return max((one.created_at for one in asked(connection, repository_id, thread, label)), default=None)


def is_known(connection: Connection, request: Request) -> bool:
    """Whether a request of a label is a task already, under another key."""
    before = asked(connection, request.repository.id, request.thread, request.label or "")
    if found(request):
        return any(one.created_at >= request.created_at - ABOUT for one in before)
    return any(found(one) and abs(one.created_at - request.created_at) <= ABOUT for one in before)


def found(request: Request) -> bool:
    """By a look, and not brought by a webhook."""
    return request.delivery_id.startswith(FOUND)
