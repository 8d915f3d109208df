"""The commit of a pull request that a task works on: the one that it had when it was asked for, and no later one."""

from __future__ import annotations

import logging

from bot.github import GitHubRefused, GitHubUnavailable
from bot.head_then import Then, head_then
from bot.steps.world import World, where_of
from bot.store import Task
from bot.threads import Head
from bot.work import Work

_log = logging.getLogger(__name__)

# Times that a task is put off because GitHub cannot say when a branch was pushed to. Then the head of now is taken, and
# the result says so: what only makes it surer must not keep a task from its answer.
TRIES = 3


class Lost(Exception):
    """The branch has moved since it was asked for, and where it was then GitHub does not say."""


async def pinned(world: World, task: Task) -> Work:
    """Pin the head, once: what was pushed after the request is never worked on unasked.

    Most events say what the head was. A comment in the conversation does not: GitHub is asked what has moved the branch
    since. Raises ``Lost``, and ``GitHubUnavailable``: come back.
    """
    request, work = task.request, task.work
    if not request.is_pull_request or work.head is not None:
        return work
    try:
        head = (await world.github.threads.pull(where_of(task), request.thread)).head
    except GitHubRefused as error:
        _log.info("task %s: the pull request cannot be read: %s", task.task_id, error)
        return work
    if request.head_sha is not None:
        return work.model_copy(update={"head": head.model_copy(update={"sha": request.head_sha})})
    then = await _then(world, task, head)
    if then.how == "lost":
        raise Lost
    if then.how == "earlier":
        _log.info("task %s: %s has moved since, and is worked on at %s", task.task_id, head.ref, then.sha)
    return work.model_copy(update={"head": head.model_copy(update={"sha": then.sha}), "head_was": then.how})


async def _then(world: World, task: Task, head: Head) -> Then:
    undated = Then(sha=head.sha, how="undated")
    if head.repository_id is None:
        return undated  # the fork is gone, and with it the record of its pushes; nobody pushes there any more either
    try:
        moves = await world.github.activity.of_branch(where_of(task), head.owner, head.name, head.ref)
    except GitHubRefused as error:
        _log.info("task %s: when %s was pushed to cannot be asked: %s", task.task_id, head.ref, error)
        return undated
    except GitHubUnavailable:
        if task.retries < TRIES:
            raise
        return undated
    return head_then(head.sha, task.request.created_at, moves.listed, all_told=moves.all_told)
