"""How often one may ask, held against what was asked for within the hour."""

from __future__ import annotations

from datetime import UTC, datetime

from bot import conversation_words as said
from bot.allowance import WINDOW, wait
from bot.steps.world import World
from bot.store import Task


async def over(world: World, task: Task) -> str | None:
    """The answer where a limit is reached; None where the task may begin."""
    most, request = world.rules.allowance, task.request
    checks: tuple[tuple[int, dict[str, int], str], ...] = (
        (most.person, {"sender_id": request.sender.id}, f"You have asked {most.person:,} times"),
        (
            most.repository,
            {"repository_id": request.repository.id},
            f"This repository has asked {most.repository:,} times",
        ),
        (most.everybody, {}, f"I have been asked {most.everybody:,} times"),
    )
    for limit, whose, words in checks:
        seconds = wait(await world.store.asked_since(WINDOW, **whose), limit)
        if seconds > 0:
            at = datetime.fromtimestamp(world.clock.now() + seconds, UTC)
            return said.too_many(seconds, at.strftime("%H:%M UTC"), words)
    return None
