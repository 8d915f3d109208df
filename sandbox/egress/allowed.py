"""What is remembered of one allowed request until it ends, and the count of its body."""

from __future__ import annotations

from sandbox.egress.answer import Answer
from sandbox.egress.pool import Share, TooLong
from sandbox.egress.reach import Upstream
from sandbox.egress.request import Request, Verdict
from sandbox.egress.usage import Reader


class Allowed:
    """One request and its response; ``listener`` and ``upstream`` never change."""

    def __init__(
        self, listener: str, upstream: Upstream, body_bytes: int, *, api: str = "", is_answer: bool = False
    ) -> None:
        self.listener = listener
        self.upstream = upstream
        self.api = api
        self.is_answer = is_answer
        """Its response counts as an answer of the model (counting tokens is none)."""
        self.answer: Answer | None = None
        self.usage: Reader | None = None
        self.judged: tuple[Request, Verdict] | None = None
        """Of a request whose body is to be judged whole, until it has been."""
        self.share: Share | None = None
        self.digest = b""
        """Of what is asked: two questions with the same are the same."""
        self.asked_bytes = 0
        self.model = ""
        self._rule_bytes = self._body_left = body_bytes

    def count(self, chunk: bytes) -> None:
        """Once for each piece of the body, before it is sent on. Raises ``TooLong`` for the one that must not be."""
        self._body_left -= len(chunk)
        if self._body_left < 0 and chunk:
            raise TooLong(f"a body may have {self._rule_bytes} bytes at most")

    def feed(self, chunk: bytes) -> None:
        """Once for each piece of an answer, as it came."""
        if self.answer is not None and self.usage is not None:
            self.answer.feed(chunk)
            self.usage.feed(chunk)
