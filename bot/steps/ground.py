"""Where the work starts from: a pull request's head, our own pull request of the thread, or the base with what was
done before laid into it."""

from __future__ import annotations

from bot.github import GitHubRefused, PullInfo
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import TaskState
from bot.threads import Head
from bot.work import Pull, Work
from sandbox import Source, State

_ENDED = frozenset({TaskState.PUBLISHING, TaskState.DONE})


async def stand(world: World, task: Task) -> Work:
    """Decide it, once: the head that is worked on, and the task whose result is gone on from."""
    work, request = task.work, task.request
    ours, live = await _live(world, task)
    if request.is_pull_request:
        earlier = await _earlier(world, task, ours) if work.head else None
        fits = earlier is not None and work.head is not None and await _stands_on(world, earlier, work.head)
        return work if not fits or earlier is None else work.model_copy(update={"onto": earlier.task_id})
    if live is not None:
        return work.model_copy(update={"head": live.head, "onto": None})
    if work.origin is not None:
        return work  # what is repeated starts from where it started from
    found = await _earlier(world, task, ours)
    return work if found is None else work.model_copy(update={"onto": found.task_id})


async def source(world: World, task: Task) -> Source:
    """What the sandbox fetches. Instructions of a head that is not trusted are the base's."""
    request, work = task.request, task.work
    repository = request.repository
    url = f"{world.rules.github_url}/{repository.owner}/{repository.name}"
    patch = None if work.onto is None or work.onto_unfit else await world.store.patch(work.onto)
    if work.head is None:
        base = work.choice.base if work.choice else None
        return Source(url=url, ref=f"refs/heads/{base}" if base else None, patch=patch)
    number = request.thread
    if not request.is_pull_request:
        ours = await world.store.pull_of_thread(repository.id, request.thread)
        number = ours.number if ours else number
    trusted = work.head.repository_id == repository.id
    return Source(
        url=url,
        commit=work.head.sha,
        ref=f"refs/pull/{number}/head",
        instructions=None if trusted else work.head.base_sha,
        patch=patch,
    )


async def _live(world: World, task: Task) -> tuple[Pull | None, PullInfo | None]:
    """Our pull request for the thread, and what GitHub says of it while it is open."""
    request = task.request
    if request.is_pull_request:
        return await world.store.pull(request.repository.id, request.thread), None
    ours = await world.store.pull_of_thread(request.repository.id, request.thread)
    if ours is None:
        return None, None
    try:
        pull = await world.github.threads.pull(where_of(task), ours.number)
    except GitHubRefused:
        return ours, None
    same = pull.head.repository_id == request.repository.id
    return ours, pull if pull.state == "open" and same else None


async def _earlier(world: World, task: Task, ours: Pull | None) -> Task | None:
    """The last task of the thread that succeeded and whose work is in no pull request, live or past."""
    request = task.request
    for one in await world.store.of_thread(request.repository.id, request.thread):
        if one.seq >= task.seq or one.state not in _ENDED or one.work.pull is not None:
            continue
        if ours is not None and one.task_id == ours.task_id:
            return None
        outcome = await world.store.outcome(one.task_id)
        if outcome and outcome.state is State.SUCCEEDED and outcome.changes and outcome.changes.patch:
            return one
    return None


async def _stands_on(world: World, task: Task, head: Head) -> bool:
    outcome = await world.store.outcome(task.task_id)
    return bool(outcome and outcome.changes and outcome.changes.base_commit == head.sha)
