"""A hook that fails has refused. mitmproxy itself logs what a hook raised, and lets everything through."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Protocol


class Shuts(Protocol):
    def shut(self, data: Any, error: Exception) -> None:
        """Refuse ``data``, whatever it is, because of ``error``. Never raises."""


def closed(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An exception in a hook becomes a refusal of whatever the hook was asked about."""
    if inspect.iscoroutinefunction(hook):

        @functools.wraps(hook)
        async def later(self: Shuts, data: Any) -> None:
            try:
                await hook(self, data)
            except Exception as error:
                self.shut(data, error)

        return later

    @functools.wraps(hook)
    def at_once(self: Shuts, data: Any) -> None:
        try:
            hook(self, data)
        except Exception as error:
            self.shut(data, error)

    return at_once
