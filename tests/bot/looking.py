"""Looks for what no webhook told of, on the stage with its webhook."""

from __future__ import annotations

from bot.demo.github import Issue
from bot.steps.found import GRACE
from bot.steps.unanswered import Unanswered
from bot.store import Task
from bot.tasks import Request
from bot.work import Pull
from tests.bot.hooked import Door
from tests.bot.stage import Stage

LATER = GRACE.total_seconds() + 60


async def looked(stage: Stage, seconds: float = LATER) -> list[Task]:
    """All tasks after a look that much later."""
    stage.clock.time += seconds
    await Unanswered(stage.runner.world).look()
    return await stage.tasks()


async def heard(stage: Stage, door: Door) -> None:
    """What was sent while the door was closed comes in now."""
    await door.open()
    before = len(stage.local.deliveries)
    await stage.runner._missed.look()
    await stage.local.until(lambda: len(stage.local.deliveries) > before)


async def ours(stage: Stage, issue: Issue) -> None:
    """From now on the pull request is one that this bot has opened."""
    assert issue.pull is not None
    issue.user = stage.local.app.user
    issue.pull.by_app = True
    stage.reader.right_description(issue, "")
    await stage.store.save_pull(
        Pull(
            repository_id=stage.repository.id,
            number=issue.number,
            thread=issue.number,
            branch=issue.pull.head_ref,
            sha=issue.pull.sha,
            task_id="t",
        )
    )


def as_if_told(request: Request, told: Request) -> Request:
    """A found request with what only the delivery tells, for a comparison with the one of a webhook."""
    return request.model_copy(update={"delivery_id": told.delivery_id})
