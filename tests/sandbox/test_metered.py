"""Figures from the wire beside the agent's own."""

from __future__ import annotations

import pytest

from sandbox.egress.report import Report
from sandbox.egress.usage import Used
from sandbox.job import Usage
from sandbox.metered import differences, metered
from sandbox.prices import Price

SEEN = Report(used=Used(input=10_000, cached=100_000, cache_write=20_000, output=3_000))
PRICE = Price(input=3, cached=0.3, cache_write=3.75, output=15)


def test_the_wires_figures_are_those_of_usage_and_their_cost_is_an_estimate() -> None:
    assert metered(SEEN, PRICE) == Usage(
        input_tokens=30_000, cached_input_tokens=100_000, output_tokens=3_000, cost_usd=0.18, cost_is_estimate=True
    )
    assert metered(SEEN, None).cost_usd is None
    assert metered(Report(), PRICE) == Usage(), "unknown is not zero"


@pytest.mark.parametrize(
    ("fresh", "cached", "output", "told"),
    [
        (30_000, 100_000, 3_000, False),
        (30_000, 90_000, 3_000, False),
        (30_000, None, 3_000, True),
        (60_000, 100_000, 3_000, True),
        (None, 100_000, 3_000, False),
    ],
)
def test_a_difference_is_told_in_words(fresh: int | None, cached: int | None, output: int, told: bool) -> None:
    said = Usage(input_tokens=fresh, cached_input_tokens=cached, output_tokens=output)
    found = differences(said, metered(SEEN, PRICE), SEEN)
    assert bool(found) is told
    if told:
        assert "133,000 were counted on the way to the model" in found[0]


def test_a_few_hundred_tokens_are_no_difference() -> None:
    few = Report(used=Used(input=100, output=100))
    assert differences(Usage(input_tokens=900, output_tokens=50), metered(few, None), few) == ()


def test_answers_that_told_nothing_are_told() -> None:
    journal = Report(used=Used(output=5), untold=2)
    assert differences(Usage(input_tokens=9_000, output_tokens=9_000), metered(journal, None), journal) == (
        "Of 2 answers of the model it is not known how many tokens they took.",
    )
    assert "1 answer of" in differences(Usage(), Usage(), Report(untold=1))[0]
