"""Saying something about a task on GitHub: its reaction and its one status comment."""

from __future__ import annotations

import logging

from bot.comments import marked, marker
from bot.github import GitHubRefused, GitHubUnavailable
from bot.github_installations import to_write
from bot.steps import checks
from bot.steps.world import World, where_of
from bot.store import Task

_log = logging.getLogger(__name__)

STATUS = "status"
HELP = "help"

# The comment is gone: somebody deleted it, or the thread with it.
GONE = frozenset({404, 410})


class Unwelcome(Exception):
    """GitHub will not take a comment of ours on this thread: locked, deleted, or the app may not. Final."""


async def post(world: World, task: Task, body: str, kind: str) -> int:
    """See to it that the thread has our comment of this kind. Raises ``Unwelcome``, ``GitHubUnavailable``."""
    request = task.request
    try:
        return await world.github.create_comment(
            where_of(task),
            request.thread,
            marked(body, task.task_id, kind),
            marker(task.task_id, kind),
            since=request.created_at,
            pull_request=request.is_pull_request,
        )
    except GitHubRefused as error:
        raise Unwelcome(str(error)) from None


async def show(world: World, task: Task, body: str) -> Task:
    """Put ``body`` into the status comment, which is made if need be; its id is on the row when this returns.

    One that somebody has deleted stays deleted: the result will be a comment of its own. On a pull request that takes
    no comments, a check run stands in for it.
    """
    if checks.stands_in(task):
        return await checks.instead(world, task, body) or task
    if task.status_comment_id is None:
        try:
            comment_id = await post(world, task, body, STATUS)
        except Unwelcome:
            if (shown := await checks.instead(world, task, body)) is not None:
                return shown
            raise
        return await world.store.set_status_comment(task, comment_id)
    await edit(world, task, body)
    return task


async def edit(world: World, task: Task, body: str) -> None:
    """Change the status comment, where there is one still."""
    if task.status_comment_id is None:
        return
    try:
        await world.github.edit_comment(
            where_of(task),
            task.status_comment_id,
            marked(body, task.task_id, STATUS),
            pull_request=task.request.is_pull_request,
        )
    except GitHubRefused as error:
        if error.status not in GONE:
            _log.warning("task %s: the status comment was not changed: %s", task.task_id, error)


async def react(world: World, task: Task, content: str) -> None:
    """React to the asker's comment. Nothing depends on it, so nothing is raised."""
    request = task.request
    if request.comment_id is None:
        return
    where, comment_id = where_of(task), request.comment_id
    try:
        if request.trigger == "review_comment":
            await world.github.conversation.react(where, comment_id, content)
        else:
            await world.github.react(where, comment_id, content, pull_request=request.is_pull_request)
    except (GitHubRefused, GitHubUnavailable) as error:
        _log.info("task %s: no reaction: %s", task.task_id, error)


async def unlabel(world: World, task: Task, name: str) -> None:
    """Take the label off. Nothing depends on it, so nothing is raised."""
    permissions = to_write(task.request.is_pull_request)
    try:
        await world.github.conversation.remove_label(where_of(task), task.request.thread, name, permissions)
    except (GitHubRefused, GitHubUnavailable) as error:
        _log.info("task %s: the label stays: %s", task.task_id, error)
