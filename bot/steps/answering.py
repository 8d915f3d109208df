"""Answering a task at once, and for good."""

from __future__ import annotations

from bot.conversation_words import ignored
from bot.steps import talk
from bot.steps.world import World
from bot.store import Task
from bot.tasks import Ending

EYES = "eyes"
NO = "-1"
PUZZLED = "confused"
THUMB = "+1"
"""GitHub's names of the reactions that are used."""


async def answer(world: World, task: Task, words: str, ending: Ending, reaction: str) -> Task:
    """One comment, and done."""
    if reaction:
        world.later(talk.react(world, task, reaction), "reaction")
    rest = ignored(task.request.ignored)
    comment_id = await talk.post(world, task, f"{words}\n\n{rest}" if rest else words, talk.HELP)
    return await world.store.finish(await world.store.set_result_comment(task, comment_id), ending)
