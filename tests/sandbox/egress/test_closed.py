"""A hook that raises has refused, whether it is awaited or not."""

from __future__ import annotations

import asyncio
from typing import Any

from sandbox.egress.closed import closed


class Hooks:
    def __init__(self) -> None:
        self.refused: list[tuple[Any, str]] = []

    def shut(self, data: Any, error: Exception) -> None:
        self.refused.append((data, type(error).__name__))

    @closed
    def at_once(self, data: Any) -> None:
        raise KeyError(data)

    @closed
    async def later(self, data: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError(data)

    @closed
    def fine(self, data: Any) -> None:
        """Nothing to say against it."""


async def test_what_a_hook_raises_is_a_refusal_of_what_it_was_asked_about() -> None:
    hooks = Hooks()
    hooks.at_once("a")
    await hooks.later("b")
    hooks.fine("c")
    assert hooks.refused == [("a", "KeyError"), ("b", "ValueError")]


def test_a_hook_keeps_its_name_and_its_kind() -> None:
    """mitmproxy finds hooks by name, and awaits those that are coroutine functions."""
    assert Hooks.at_once.__name__ == "at_once"
    assert asyncio.iscoroutinefunction(Hooks.later)
    assert not asyncio.iscoroutinefunction(Hooks.at_once)
