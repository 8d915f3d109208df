"""The APIs that the scripted model speaks, and which of them a path is meant for. Another one is a file and a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from bot.demo import chat, messages, responses
from bot.demo.asked import Asked
from bot.demo.say import Say


class Api(Protocol):
    """What a module offers that speaks one of them."""

    ENDING: str
    KEY_HEADER: str
    ID_HEADER: str
    BEFORE_BREAK: int

    def read(self, body: bytes) -> Asked: ...

    def whole(self, say: Say, model: str) -> dict[str, Any]: ...

    def stream(self, answer: Mapping[str, Any], question: Asked, /) -> Iterator[bytes]: ...

    def failure(self, name: str) -> tuple[int, dict[str, Any]]: ...

    def stream_error(self) -> bytes: ...


APIS: tuple[Api, ...] = (messages, responses, chat)


def meant(path: str) -> Api | None:
    """The API that is spoken at this path, whatever a gateway puts before it."""
    return next((api for api in APIS if path.endswith(api.ENDING)), None)
