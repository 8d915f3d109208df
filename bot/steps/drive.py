"""One held task, step after step, until it is done, put off, or somebody else's."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from bot import jobs
from bot.github import GitHubUnavailable
from bot.steps import checks
from bot.steps.admit import admit
from bot.steps.deliver import deliver
from bot.steps.prepare import begin, prepare
from bot.steps.talk import Unwelcome
from bot.steps.watch import watch
from bot.steps.world import World
from bot.store import LeaseLost, Task
from bot.tasks import TaskState
from sandbox import Reason, Unreachable

_log = logging.getLogger(__name__)

# Seconds until a task that was put off is tried again: doubled each time, up to the longest.
FIRST_PAUSE = 2.0
LONGEST_PAUSE = 60.0
# Times that a step may fail with an error that nobody foresaw before the task ends as failed.
SURPRISES = 5
# Seconds after which a task that GitHub keeps from its agent is given up: it may hold a place all the while.
BEGIN_WITHIN = 24 * 3600.0

Step = Callable[[World, Task], Awaitable[Task | None]]


def step_for(task: Task) -> Step | None:
    """What is to be done next; None: nothing. Pure."""
    match task.state:
        case TaskState.QUEUED if task.admitted_at is None:
            return admit
        case TaskState.QUEUED:
            return begin
        case TaskState.PREPARING:
            return prepare
        case TaskState.RUNNING:
            return watch
        case TaskState.PUBLISHING:
            return deliver
        case TaskState.DONE:
            return None


def pause(retries: int) -> float:
    """Seconds until the next try, after so many. Pure."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(retries, 10))


async def drive(world: World, task: Task) -> None:
    """Returns when the task is done, let go or lost to another worker; raises only what the database raises.

    Cancelled or raising, it leaves the row as it is: the lease runs out, and the next claim goes on from there.
    """
    current: Task | None = task
    while current is not None and (step := step_for(current)) is not None:
        task = current
        try:
            current = await step(world, task)
        except LeaseLost:
            _log.warning("task %s: another worker has it now", task.task_id)
            return
        except Unwelcome as error:
            _log.warning("task %s: GitHub takes no comment there: %s", task.task_id, error)
            await _give_up(world, task)
            return
        except GitHubUnavailable as error:
            _log.warning("task %s: put off at %s: %s", task.task_id, task.state, error)
            await _unavailable(world, task, error)
            return
        except Unreachable as error:
            _log.warning("task %s: the engine cannot be asked: %s", task.task_id, error)
            await _put_off(world, task, pause(task.retries))
            return
        except Exception:
            _log.exception("task %s: unexpected error at %s", task.task_id, task.state)
            await _surprised(world, task)
            return


async def _unavailable(world: World, task: Task, error: GitHubUnavailable) -> None:
    """Later, unless no agent has run yet and it was later for a day. What an agent has done is `deliver`'s to give up.

    A fault may be that of one installation, and for good: its tasks must not keep the places of the others.
    """
    since = task.started_at or task.created_at
    begun = task.state not in {TaskState.QUEUED, TaskState.PREPARING}
    if begun or world.clock.now() - since < BEGIN_WITHIN:
        return await _put_off(world, task, max(pause(task.retries), error.retry_after_seconds))
    if task.started_at is None:
        return await _give_up(world, task)
    if fresh := await _still_ours(world, task):
        outcome = jobs.not_prepared(Reason.LOST, f"For a day GitHub could not be asked what is needed ({error}).")
        await world.store.set_outcome(fresh, outcome, "failed")
        await _put_off(world, fresh, 0.0)
    return None


async def _put_off(world: World, task: Task, seconds: float) -> None:
    await world.store.release(task, after=seconds, put_off=True)


async def _give_up(world: World, task: Task) -> None:
    """Nobody can be told anything. No agent has run: a status comment comes first."""
    if fresh := await _still_ours(world, task):
        await checks.drop(world, fresh, "What was to be said here could not be said.")
        await world.store.finish(fresh, "undeliverable")


async def _surprised(world: World, task: Task) -> None:
    """An error that nobody foresaw. The asker is answered all the same, in the end."""
    fresh = await _still_ours(world, task)
    if fresh is None:
        return None
    if fresh.retries < SURPRISES:
        return await _put_off(world, fresh, pause(fresh.retries))
    if fresh.state is TaskState.PUBLISHING:
        await world.store.finish(fresh, "undeliverable")
        return None
    outcome = jobs.not_prepared(Reason.LOST, "An error inside this bot; its log has it under the task's id.")
    await world.store.set_outcome(fresh, outcome, "failed")
    return await _put_off(world, fresh, 0.0)


async def _still_ours(world: World, task: Task) -> Task | None:
    """The row as it is now: a step may have written before it failed."""
    fresh = await world.store.task(task.task_id)
    return fresh if fresh is not None and (fresh.fence, fresh.worker) == (task.fence, task.worker) else None
