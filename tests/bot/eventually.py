"""Waiting for a fact that nobody announces."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

# Seconds between two looks. There is no event to wait for where the fact is in another process or in a file.
LOOK = 0.005


async def eventually(fact: Callable[[], bool], seconds: float = 10.0, why: Callable[[], str] = str) -> None:
    """Return once ``fact`` holds; after ``seconds`` fail with ``why``."""
    try:
        async with asyncio.timeout(seconds):
            while not fact():  # noqa: ASYNC110
                await asyncio.sleep(LOOK)
    except TimeoutError:
        raise AssertionError(f"not seen within {seconds} s; {why()}") from None


async def eventually_is(ask: Callable[[], Awaitable[object]], wanted: object, seconds: float = 10.0) -> None:
    """The same for a question that is awaited."""
    async with asyncio.timeout(seconds):
        while await ask() != wanted:  # noqa: ASYNC110
            await asyncio.sleep(LOOK)
