"""The end: the result into the thread, the sandbox away, done. The outcome is stored by now."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from bot import jobs, publish
from bot.comments import could_not_begin, failed_to_prepare, marked, marker, result, unreadable
from bot.conversation_words import began_without, ignored, left_out, went_on_from, worked_on
from bot.github import GitHubUnavailable
from bot.pull_comment import opened
from bot.result_comment import bare
from bot.steps import checks
from bot.steps.held_ci import held
from bot.steps.publish import Brought, bring
from bot.steps.replies import answer_threads
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import Ending
from bot.work import Work
from sandbox import Outcome, Reason, Unreachable, handle_for

_log = logging.getLogger(__name__)

RESULT = "result"
# Seconds after which a result that cannot be posted is given up. It stays stored: `gofer patch`.
GIVE_UP_AFTER = 24 * 3600.0


async def deliver(world: World, task: Task) -> Task:
    """Post, tidy up, finish. After a crash anywhere in it the same comment is there once."""
    ending: Ending = task.ending or "failed"
    if task.result_comment_id is None:
        try:
            task, posted = await _post(world, task)
        except GitHubUnavailable:
            await _tidy(world, task)  # the stored patch is the state: no disk is held for GitHub's sake
            if world.clock.now() - (task.started_at or task.created_at) < GIVE_UP_AFTER:
                raise
            posted = False
        ending = ending if posted else "undeliverable"
    await _tidy(world, task)
    return await world.store.finish(task, ending)


async def _post(world: World, task: Task) -> tuple[Task, bool]:
    """The result in place of the status comment, or as a comment of its own where that is gone.

    Where GitHub does not take it for what it says, once more without the agent's words.
    """
    outcome = await _outcome(world, task)
    brought = Brought(task, None)
    if outcome is not None and not jobs.never_ran(outcome):
        waits = await held(world, task)
        brought = await bring(world, task, outcome)
        brought = replace(brought, note="\n\n".join(text for text in (brought.note, waits) if text))
        task = await answer_threads(world, brought.task, outcome, brought)
    body = safely(body_of, task, outcome, brought)
    done = await _say(world, task, body)
    if isinstance(done, publish.Undeliverable) and done.for_what_it_says:
        _log.warning("task %s: the result is said without the agent's words: %s", task.task_id, done.words)
        done = await _say(world, task, safely(bare_of, task, outcome, brought))
    posted = isinstance(done, publish.Delivered)
    seen = outcome.model_copy(update={"reply": ""}) if outcome is not None and brought.hidden else outcome
    task, shown = await checks.end(world, task, task.ending or "failed", seen, body, brought.published, posted=posted)
    match done:
        case publish.Delivered(comment_id):
            return await world.store.set_result_comment(task, comment_id), True
        case publish.Undeliverable(words):
            _log.warning("task %s: the result cannot be posted: %s", task.task_id, words)
            return task, shown or brought.published is not None


async def _say(world: World, task: Task, body: str) -> publish.Delivered | publish.Undeliverable:
    request = task.request
    steps = publish.plan(
        thread=request.thread,
        comment_id=task.status_comment_id,
        body=body,
        marker=marker(task.task_id, RESULT),
    )
    return await publish.perform(
        world.github,
        where_of(task),
        steps,
        since=request.created_at,
        pull_request=request.is_pull_request,
    )


async def _outcome(world: World, task: Task) -> Outcome | None:
    """None: not there, or damaged. Its asker is told so."""
    try:
        return await world.store.outcome(task.task_id)
    except ValueError:
        _log.exception("task %s: the stored outcome cannot be read", task.task_id)
        return None


def body_of(task: Task, outcome: Outcome | None, brought: Brought) -> str:
    """The comment for an outcome. Pure."""
    task_id = task.task_id
    if outcome is None:
        return marked(unreadable(), task_id, RESULT)
    if jobs.never_ran(outcome):
        if outcome.reason is Reason.LOST:
            return marked(could_not_begin(outcome.error), task_id, RESULT)
        return marked(failed_to_prepare(outcome.reason, outcome.error), task_id, RESULT)
    if brought.hidden:
        return bare(task_id, outcome, RESULT, note=brought.note)
    head = worked_on(task.work.head_was, task.work.head.sha) if task.work.head else ""
    details = [text for text in (head, left_out(task.work.left_out), ignored(task.request.ignored)) if text]
    note = "\n\n".join(text for text in (brought.note, _onto(task.work)) if text)
    if brought.published is not None:
        return opened(task_id, outcome, brought.published, RESULT, note=note, details=details)
    return result(task_id, outcome, RESULT, note=note, details=details)


def _onto(work: Work) -> str:
    """What became of the earlier result of the thread."""
    if work.onto is None:
        return ""
    return began_without(work.onto) if work.onto_unfit else went_on_from(work.onto)


def bare_of(task: Task, outcome: Outcome | None, brought: Brought) -> str:
    """The same comment without a word that is not ours. Pure."""
    if outcome is None or jobs.never_ran(outcome):
        return body_of(task, outcome and outcome.model_copy(update={"error": ""}), brought)
    if brought.hidden:
        return body_of(task, outcome, brought)
    return bare(task.task_id, outcome, RESULT)


Render = Callable[[Task, Outcome | None, Brought], str]


def safely(render: Render, task: Task, outcome: Outcome | None, brought: Brought) -> str:
    """What ``render`` makes of it; where that fails, a result without any of the agent's text. Somebody waits."""
    try:
        return render(task, outcome, brought)
    except Exception:
        _log.exception("task %s: the result cannot be shown whole", task.task_id)
    note = "An error of this bot kept the whole result from being shown here; it is stored."
    known = outcome or jobs.not_prepared(Reason.LOST, "")
    return result(task.task_id, Outcome(state=known.state, reason=known.reason, notes=(note,)), RESULT)


async def _tidy(world: World, task: Task) -> None:
    """Remove the sandbox. Where the engine cannot be asked, the sweep does it later."""
    if task.handle is None:
        return
    try:
        await world.sandbox.remove(handle_for(task.handle))
    except Unreachable as error:
        _log.warning("task %s: the sandbox is removed later: %s", task.task_id, error)
        world.untidy.append(task.handle)
