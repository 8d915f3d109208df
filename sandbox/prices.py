"""What common models cost: a dated table, for estimates only. Pure.

Used where an agent's CLI says no cost, and for bounds on cost. Providers change prices, gateways add to them, and
some contexts cost more (long ones, other service tiers): a figure from here is an estimate and is shown as one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sandbox.job import Usage

AS_OF = "2026-01"
MILLION = 1_000_000


class Price(NamedTuple):
    """USD per million tokens."""

    input: float
    cached: float
    """Input that a cache gave."""
    cache_write: float
    """Input that a cache took."""
    output: float


def _anthropic(given: float, output: float) -> Price:
    """A cache gives for a tenth and takes (for five minutes) for a quarter more."""
    return Price(given, given / 10, given * 1.25, output)


def _openai(given: float, cached: float, output: float) -> Price:
    """A cache takes for nothing beyond the input itself."""
    return Price(given, cached, given, output)


# By the beginning of the name; of two that fit the longer one counts.
_PRICES = {
    "claude-opus-4-5": _anthropic(5, 25),
    "claude-opus-4": _anthropic(15, 75),
    "claude-sonnet-4": _anthropic(3, 15),
    "claude-haiku-4-5": _anthropic(1, 5),
    "claude-3-7-sonnet": _anthropic(3, 15),
    "claude-3-5-sonnet": _anthropic(3, 15),
    "claude-3-5-haiku": _anthropic(0.8, 4),
    "gpt-5.2": _openai(1.75, 0.175, 14),
    "gpt-5.1": _openai(1.25, 0.125, 10),
    "gpt-5.1-codex-mini": _openai(0.25, 0.025, 2),
    "gpt-5": _openai(1.25, 0.125, 10),
    "gpt-5-mini": _openai(0.25, 0.025, 2),
    "gpt-5-nano": _openai(0.05, 0.005, 0.4),
    "gpt-4.1": _openai(2, 0.5, 8),
    "gpt-4.1-mini": _openai(0.4, 0.1, 1.6),
    "gpt-4.1-nano": _openai(0.1, 0.025, 0.4),
    "gpt-4o": _openai(2.5, 1.25, 10),
    "gpt-4o-mini": _openai(0.15, 0.075, 0.6),
    "o3": _openai(2, 0.5, 8),
    "o4-mini": _openai(1.1, 0.275, 4.4),
}
# What may follow a name in the table and still be that model: a date, a version, a context's size.
_SUFFIX = re.compile(r"([-@]\d{4}-?\d{2}-?\d{2}|-latest|-v\d(:\d)?|\[1m\]|-[0-9]|-codex(-max)?)*")


def price(model: str) -> Price | None:
    """Of a model by its name, with or without a provider before it; None where it is not known."""
    bare = model.lower().rpartition("/")[2].removeprefix("anthropic.").removeprefix("us.anthropic.")
    fitting = [name for name in _PRICES if bare.startswith(name) and _SUFFIX.fullmatch(bare[len(name) :])]
    return _PRICES[max(fitting, key=len)] if fitting else None


def estimated(usage: Usage, model: str) -> Usage:
    """``usage`` with a cost where it has none and the tokens and the price are known; marked as an estimate."""
    known = price(model)
    if usage.cost_usd is not None or known is None or usage.input_tokens is None or usage.output_tokens is None:
        return usage
    spent = (
        usage.input_tokens * known.input
        + (usage.cached_input_tokens or 0) * known.cached
        + usage.output_tokens * known.output
    )
    return usage.model_copy(update={"cost_usd": round(spent / MILLION, 6), "cost_is_estimate": True})
