"""What one task may use of the model and of the network, as the first line says it. Pure; standard library only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_COUNTS = ("model_requests", "tokens", "egress_bytes", "same_request")
_PRICES = ("input", "cached", "cache_write", "output")
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens."""

    input: float
    cached: float
    cache_write: float
    output: float

    def cost(self, *, fresh: int, cached: int, cache_write: int, output: int) -> float:
        """USD for so many tokens; ``fresh`` is input that no cache gave or took."""
        spent = fresh * self.input + cached * self.cached + cache_write * self.cache_write + output * self.output
        return spent / MILLION


@dataclass(frozen=True, slots=True)
class Budget:
    """The bounds of one task. A number that is reached is still within; the next request is not."""

    model_requests: int
    tokens: int
    egress_bytes: int
    same_request: int
    """So often may the very same question be answered."""
    cost_usd: float | None = None
    prices: Prices | None = None


def parse(given: Any) -> Budget | None:
    """Raises ``ValueError``, also for a bound on cost without prices: it would bound nothing."""
    if given is None:
        return None
    if not isinstance(given, dict) or set(given) != {*_COUNTS, "cost_usd", "prices"}:
        raise ValueError(f"budget must have exactly: {', '.join(sorted({*_COUNTS, 'cost_usd', 'prices'}))}")
    if not all(type(given[name]) is int and given[name] > 0 for name in _COUNTS):
        raise ValueError(f"budget: {', '.join(_COUNTS)} are whole numbers above zero")
    cost, prices = given["cost_usd"], _prices(given["prices"])
    if cost is not None and not (_number(cost) and cost > 0 and prices is not None):
        raise ValueError("budget.cost_usd is a number above zero and needs prices")
    return Budget(**{name: given[name] for name in _COUNTS}, cost_usd=cost, prices=prices)


def _prices(given: Any) -> Prices | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) != set(_PRICES):
        raise ValueError(f"budget.prices must have exactly: {', '.join(_PRICES)}")
    if not all(_number(value) and value >= 0 for value in given.values()):
        raise ValueError("budget.prices are numbers of USD per million tokens")
    return Prices(**{name: float(given[name]) for name in _PRICES})


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
