"""The tasks of one thread, as another task of it sees them."""

from __future__ import annotations

from bot.asking import by_review, same_ask
from bot.steps.world import World
from bot.store import Task
from bot.tasks import Anchor, Command, Request, TaskState

# Tasks of a thread that are looked through for its review rounds.
LOOKED_AT = 200


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
    """A task of the thread that was asked for the same, in the same place, and is not done."""
    for one in await unfinished(world, task):
        same_place = _place(_begun_by(one)) == _place(_begun_by(task))
        if one.admitted_at is not None and same_place and same_ask(one.work.asked, command):
            return one
    return None


def _begun_by(task: Task) -> Request:
    return task.work.origin or task.request


def _place(request: Request) -> tuple[Anchor | None, int | None]:
    """The same words on other lines, or in another review, ask for something else."""
    return request.anchor, request.review_id


async def rounds_before(world: World, task: Task) -> int:
    """Reviews of the pull request that were let in before this one, each a round."""
    request = task.request
    found = await world.store.of_thread(request.repository.id, request.thread, LOOKED_AT)
    return sum(by_review(one.request) and one.admitted_at is not None and one.seq != task.seq for one in found)


async def lane_is_taken(world: World, task: Task) -> bool:
    """Whether a task of another thread works towards the same branch: of the issue that our pull request is for, or of
    the pull request that is for this issue. Only what has begun counts, so that no two wait for each other."""
    repository = task.request.repository.id
    mine = task.request.thread
    pull = await world.store.pull(repository, mine) or await world.store.pull_of_thread(repository, mine)
    if pull is None:
        return False
    other = pull.thread if pull.number == mine else pull.number
    if other == mine:
        return False
    begun = [one for one in await world.store.of_thread(repository, other) if one.state is not TaskState.DONE]
    return any(one.started_at is not None and _first(one, task) for one in begun)


def _first(one: Task, other: Task) -> bool:
    """Of two that have begun, exactly one goes on."""
    return (one.state is not TaskState.QUEUED) or one.seq < other.seq
