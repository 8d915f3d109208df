"""How much one task has used, against its budget. Pure.

A bound is looked at before a question goes out: one that has been reached lets nothing more through. What is under way
at that moment ends by itself, so that as many answers as there are connections may come on top.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.egress.budget import Budget
from sandbox.egress.usage import Used

# Different questions that are remembered, 32 bytes each. A loop asks one or a few.
MAX_QUESTIONS = 4096


@dataclass(frozen=True, slots=True)
class Breach:
    """The bound that was reached first; nothing goes out any more."""

    of: str
    limit: float


class Meter:
    """Counts for one sandbox. ``told`` is called once, with the first breach."""

    def __init__(self, budget: Budget | None, told: Callable[[Breach], None]) -> None:
        self._budget, self._told = budget, told
        self.breach: Breach | None = None
        self.requests = self.tokens = self.bytes = 0
        self.cost = 0.0
        self._answered: OrderedDict[bytes, int] = OrderedDict()

    def question(self, digest: bytes, *, answers: bool) -> bool:
        """Whether this request may go out; it is counted then. ``answers``: the model answers it (counting tokens is
        no answer, costs nothing and is not counted)."""
        if answers and self.breach is None and self._budget is not None:
            self._look(self._budget, digest)
        if answers and self.breach is None:
            self.requests += 1
        return self.breach is None

    def _look(self, budget: Budget, digest: bytes) -> None:
        if self._answered.get(digest, 0) >= budget.same_request:
            self._over("same_request", budget.same_request)
        elif self.requests >= budget.model_requests:
            self._over("model_requests", budget.model_requests)
        elif self.tokens >= budget.tokens:
            self._over("tokens", budget.tokens)
        elif budget.cost_usd is not None and self.cost >= budget.cost_usd:
            self._over("cost_usd", budget.cost_usd)

    def answered(self, digest: bytes) -> None:
        """The model has begun to answer it: whoever asks it again has not listened."""
        self._answered[digest] = self._answered.get(digest, 0) + 1
        self._answered.move_to_end(digest)
        if len(self._answered) > MAX_QUESTIONS:
            self._answered.popitem(last=False)

    def spent(self, used: Used) -> None:
        """Once for each answer, at its end."""
        self.tokens += used.total
        if self._budget is not None and (prices := self._budget.prices) is not None:
            self.cost += prices.cost(
                fresh=used.input, cached=used.cached, cache_write=used.cache_write, output=used.output
            )

    def moved(self, count: int) -> bool:
        """So many bytes more, either way and to or from whomever. False: they must not be passed on."""
        self.bytes += count
        if self.breach is None and self._budget is not None and self.bytes > self._budget.egress_bytes:
            self._over("egress_bytes", self._budget.egress_bytes)
        return self._budget is None or self.bytes <= self._budget.egress_bytes

    def _over(self, of: str, limit: float) -> None:
        self.breach = Breach(of, limit)
        self._told(self.breach)
