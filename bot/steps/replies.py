"""Answering the conversations of a review, each on its own thread: what was done, or why not."""

from __future__ import annotations

import logging

from bot import inert
from bot.context import answers
from bot.github import GitHubRefused
from bot.inert import Untrusted
from bot.result_comment import marked, marker
from bot.steps.publish import Brought
from bot.steps.world import World, where_of
from bot.store import Task
from sandbox import Outcome

_log = logging.getLogger(__name__)

# Units for one answer: a paragraph.
ROOM = 2_000
KIND = "reply"


async def answer_threads(world: World, task: Task, outcome: Outcome, brought: Brought) -> Task:
    """One answer a conversation; after a crash the same ones are there once. Raises ``GitHubUnavailable``."""
    said = {} if brought.hidden else answers(outcome.reply, task.work.threads)
    for root in task.work.threads:
        if root in task.work.answered:
            continue
        body = marked(words(said.get(root, ""), brought), task.task_id, f"{KIND}-{letters(root)}")
        mark = marker(task.task_id, f"{KIND}-{letters(root)}")
        try:
            await world.github.conversation.reply(where_of(task), task.request.thread, root, body, mark)
        except GitHubRefused as error:
            _log.info("task %s: a conversation was not answered: %s", task.task_id, error)
        answered = task.work.model_copy(update={"answered": (*task.work.answered, root)})
        task = await world.store.set_work(task, answered)
    return task


def words(said: str, brought: Brought) -> str:
    """What stands on the thread. The agent's line is quoted; what became of the work is ours to say."""
    if brought.published is None:
        ours = "Nothing was pushed; the status comment of this pull request says why."
    elif brought.published.updated:
        ours = f"Pushed in `{brought.published.commit[:12]}`."
    else:
        ours = f"The work is on `{brought.published.branch}`, in #{brought.published.pull.number}."
    if not said.strip():
        return f"The agent did not say what it did about this. {ours}"
    return f"{inert.quote(Untrusted(said), ROOM).text}\n\n{ours}"


def letters(number: int) -> str:
    """A number in small letters: the kind of a marker is made of nothing else."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))
