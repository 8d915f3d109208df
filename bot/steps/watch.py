"""A running agent: look until it has ended, then store everything that is known about the end."""

from __future__ import annotations

from bot import jobs
from bot.steps.progress import Progress
from bot.steps.world import World
from bot.store import Task
from sandbox import Handle, Phase, Reason, Status, handle_for

# Seconds of one wait. The sandbox says earlier that the agent has ended; this is how late a cancel is seen, and how
# late an end whose event got lost.
LOOK_SECONDS = 3.0


async def watch(world: World, task: Task) -> Task:
    """Until it has ended. Where it was never started (we died just before), start it."""
    handle = handle_for(task.handle or jobs.sandbox_name(task.task_id))
    progress = Progress(world, task)
    try:
        await _until_ended(world, task, handle, progress)
        outcome = await world.sandbox.outcome(handle)
    finally:
        await progress.end()
    return await world.store.set_outcome(task, outcome, jobs.ending_of(outcome))


async def _until_ended(world: World, task: Task, handle: Handle, progress: Progress) -> None:
    status = await world.sandbox.status(handle)
    if status.phase is Phase.READY:
        await world.sandbox.start(handle)
    cancelled = False
    while not ended(status):
        if not cancelled and (task.cancel_requested or task.task_id in world.cancelled):
            await world.sandbox.cancel(handle, Reason.CANCELLED)
            cancelled = True
        progress.see(status)
        status = await world.sandbox.wait(handle, LOOK_SECONDS)


def ended(status: Status) -> bool:
    """Whether there is nothing to wait for. A sandbox that is not there, or half there, will not run by itself."""
    return status.phase in {Phase.ABSENT, Phase.PREPARING, Phase.EXITED}
