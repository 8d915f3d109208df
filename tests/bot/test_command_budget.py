from __future__ import annotations

import pytest

from bot.command_budget import budget
from sandbox import Budget


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("90s", Budget(wall_seconds=90)),
        ("30m", Budget(wall_seconds=1800)),
        ("1.5h", Budget(wall_seconds=5400)),
        ("$2", Budget(cost_usd=2)),
        ("0.5USD", Budget(cost_usd=0.5)),
        ("2$", Budget(cost_usd=2)),
        ("800tok", Budget(tokens=800)),
        ("1.5ktok", Budget(tokens=1500)),
        ("2mtok", Budget(tokens=2_000_000)),
        ("40req", Budget(model_requests=40)),
        ("10min,$1,5ktok,9req", Budget(wall_seconds=600, cost_usd=1, tokens=5000, model_requests=9)),
    ],
)
def test_an_amount_says_its_kind_by_its_unit(text: str, amounts: Budget) -> None:
    assert budget(text) == amounts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "30",
        "m",
        "-5m",
        "0m",
        "$0",
        "0.1s",
        "1e9req",
        "30m,40m",
        "30m,",
        "$",
        "1..5h",
        "9" * 1000 + "s",
        "٣m",
        "infusd",
    ],
)
def test_what_is_no_amount_is_none(text: str) -> None:
    assert budget(text) is None
