"""From a place to a running agent: the name of the sandbox is on the row before anything of it is made."""

from __future__ import annotations

from bot import jobs, repo_config
from bot.comments import fetching
from bot.github import GitHubRefused, GitHubUnavailable
from bot.repo_config import ConfigMistake
from bot.steps import checks, talk
from bot.steps.admit import refuse
from bot.steps.brief import brief
from bot.steps.intervals import past
from bot.steps.may import still
from bot.steps.thread_tasks import lane_is_taken
from bot.steps.tidy import tidy
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import TaskState
from sandbox import Handle, Job, Outcome, PrepareFailed, Reason, Secrets, handle_for

# Seconds in the queue after which the asker's permission is asked for again: it may have been taken away meanwhile.
PERMISSION_HOLDS = 60.0
# Seconds until a task looks again whether another thread's task still works towards its branch.
LANE_SECONDS = 3.0
# How the sandbox's words begin where an earlier result cannot be laid into the checkout.
UNFIT = "The earlier result "
# Times that a task may be taken over from a worker that died before it is given up: it may be what kills them.
ATTEMPTS = 5


async def begin(world: World, task: Task) -> Task | None:
    """A waiting task has got a place."""
    if task.task_id in world.cancelled or task.cancel_requested:
        return await _failed(world, task, Reason.CANCELLED, "")
    if await lane_is_taken(world, task):
        await world.store.release(task, after=LANE_SECONDS)
        return None
    if task.admitted_at is not None and past(world.clock.now(), task.admitted_at, PERMISSION_HOLDS):
        decision = await still(world, task)
        if not decision.allowed:
            return await refuse(world, task, decision)
    if task.status_comment_id is None or task.shown_position is not None:
        task = await talk.show(world, task, fetching())
    return await world.store.set_handle(task, jobs.sandbox_name(task.task_id))


async def prepare(world: World, task: Task) -> Task:
    """Make the sandbox and start the agent; after a restart, go on with what is there of it."""
    if task.attempts > ATTEMPTS:
        return await _failed(world, task, Reason.LOST, "The server stopped every time that it began this task.")
    if task.task_id in world.cancelled or task.cancel_requested:
        return await _failed(world, task, Reason.CANCELLED, "")
    where = where_of(task)
    try:
        task, job = await brief(world, task)
    except ConfigMistake as error:
        return await _failed(world, task, Reason.LOST, f"{repo_config.PATH} has a mistake: {error}")
    except GitHubRefused as error:
        return await _failed(world, task, Reason.FETCH_FAILED, f"The thread could not be read ({error}).")
    task = await tidy(world, await checks.begin(world, task))
    task = await _started(world, task)
    try:
        token = await world.github.fetch_token(where)
    except GitHubRefused as error:
        words = f"GitHub gives no token for this repository ({error})."
        return await _failed(world, task, Reason.FETCH_FAILED, words)
    try:
        handle = await _prepared(world, task, job, Secrets(fetch_token=token.token))
    except PrepareFailed as error:
        if unfit(error) and task.work.onto is not None and not task.work.onto_unfit:
            return await _without_the_earlier(world, task)
        return await _failed(world, task, error.reason, str(error))
    finally:
        # Fetched or failed, or being stopped: nobody needs it any more. Not waited for; it costs a round trip.
        world.later(world.github.revoke(token), "revoke")
    if task.task_id in world.cancelled:
        return await _failed(world, task, Reason.CANCELLED, "")
    task = await world.store.move(task, TaskState.RUNNING)
    await world.sandbox.start(handle)
    return task


async def _started(world: World, task: Task) -> Task:
    """The label that asked is taken off, once: putting it on again asks again."""
    label = task.request.label
    if label is None or task.work.label_removed:
        return task
    await talk.unlabel(world, task, label)
    return await world.store.set_work(task, task.work.model_copy(update={"label_removed": True}))


def unfit(error: PrepareFailed) -> bool:
    """Whether it is the earlier result, and nothing else, that kept the sandbox from being made. Pure."""
    return error.reason is Reason.FETCH_FAILED and str(error).startswith(UNFIT)


async def _without_the_earlier(world: World, task: Task) -> Task:
    """The step is done again with a fresh checkout, and the result says so."""
    await world.sandbox.remove(handle_for(task.handle or jobs.sandbox_name(task.task_id)))
    return await world.store.set_work(task, task.work.model_copy(update={"onto_unfit": True}))


async def _prepared(world: World, task: Task, job: Job, secrets: Secrets) -> Handle:
    """Where nothing could be fetched, once more under the name that the repository may have got since it was asked for:
    GitHub leads from the old name to the new one, and the sandbox follows no one anywhere. Raises ``PrepareFailed``."""
    try:
        return await world.sandbox.prepare(job, secrets)
    except PrepareFailed as error:
        moved = await _under_its_new_name(world, task, job) if error.reason is Reason.FETCH_FAILED else None
        if moved is None:
            raise
    return await world.sandbox.prepare(moved, secrets)


async def _under_its_new_name(world: World, task: Task, job: Job) -> Job | None:
    """None: it has the same name still, is not served under the other, or GitHub does not say."""
    try:
        now = await world.github.repository(where_of(task))
    except (GitHubRefused, GitHubUnavailable):
        return None
    moved = jobs.fetched_from(job, world.rules.github_url, now.owner, now.name)
    return moved if moved != job and world.rules.served.serves(now.owner, now.name) else None


async def _failed(world: World, task: Task, reason: Reason, words: str) -> Task:
    outcome: Outcome = jobs.not_prepared(reason, words)
    return await world.store.set_outcome(task, outcome, jobs.ending_of(outcome))
