"""The tasks of one thread, as another task of it sees them."""

from __future__ import annotations

from bot.asking import same_ask
from bot.steps.world import World
from bot.store import Task
from bot.tasks import Command, TaskState


def url_of(world: World, task: Task) -> str:
    """The status comment of a task on its page; empty where there is none."""
    request = task.request
    if task.status_comment_id is None:
        return ""
    kind = "pull" if request.is_pull_request else "issues"
    place = f"{request.repository.owner}/{request.repository.name}/{kind}/{request.thread}"
    return f"{world.rules.github_url}/{place}#issuecomment-{task.status_comment_id}"


async def unfinished(world: World, task: Task) -> list[Task]:
    """Tasks of the thread that are not done, oldest first, without this one."""
    request = task.request
    found = await world.store.of_thread(request.repository.id, request.thread)
    return [one for one in reversed(found) if one.state is not TaskState.DONE and one.task_id != task.task_id]


async def live_twin(world: World, task: Task, command: Command) -> Task | None:
    """A task of the thread that was asked for before, for the same, and is not done."""
    for one in await unfinished(world, task):
        if one.seq < task.seq and one.admitted_at is not None and same_ask(one.work.asked, command):
            return one
    return None
