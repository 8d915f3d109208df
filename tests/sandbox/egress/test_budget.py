"""The bounds of one task, parsed: unclear ones are none, and none is no start."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.egress.budget import Budget, Prices, parse
from tests.sandbox.egress.policies import BUDGET

PRICES = {"input": 3, "cached": 0.3, "cache_write": 3.75, "output": 15}


def test_a_whole_budget() -> None:
    assert parse(None) is None
    assert parse({**BUDGET, "cost_usd": 0.5, "prices": PRICES}) == Budget(
        1_000, 50_000_000, 2**32, 12, 0.5, Prices(3.0, 0.3, 3.75, 15.0)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": 0},
        {"tokens": -1},
        {"tokens": 1.5},
        {"tokens": True},
        {"tokens": None},
        {"more": 1},
        {"cost_usd": 1.0},
        {"cost_usd": 0, "prices": PRICES},
        {"cost_usd": float("inf"), "prices": PRICES},
        {"cost_usd": float("nan"), "prices": PRICES},
        {"cost_usd": "1", "prices": PRICES},
        {"prices": {}},
        {"prices": {**PRICES, "input": -1}},
        {"prices": {**PRICES, "input": "3"}},
        {"prices": {**PRICES, "input": float("nan")}},
        {"prices": [1, 2, 3, 4]},
    ],
    ids=range(16),
)
def test_an_unclear_budget_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="budget"):
        parse({**BUDGET, **change})


def test_cost_is_by_the_million() -> None:
    assert Prices(3, 0.3, 3.75, 15).cost(fresh=1_000_000, cached=2_000_000, cache_write=0, output=100_000) == 5.1
