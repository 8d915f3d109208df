"""What common models cost: a dated table, for estimates only. Pure.

Used where an agent's CLI says no cost, and for bounds on cost. Providers change prices, gateways add to them, and
some contexts cost more (long ones, other service tiers): a figure from here is an estimate and is shown as one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sandbox.job import Usage

AS_OF = "2026-09"
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


def _openai(given: float, output: float, cached: float | None = None) -> Price:
    """A cache gives for a tenth, where nothing else is said; what it takes costs as much as other input."""
    return Price(given, given / 10 if cached is None else cached, given, output)


# By name; a date or a version may follow it. As the list has them that OpenCode 1.18.33 brings along, and the
# providers' own pages for older ones.
_PRICES = {
    "claude-fable-5": _anthropic(10, 50),
    "claude-opus-5-5": Price(4, 0.2, 5, 20),
    "claude-opus-5": _anthropic(5, 25),
    "claude-opus-4-8": _anthropic(5, 25),
    "claude-opus-4-7": _anthropic(5, 25),
    "claude-opus-4-6": _anthropic(5, 25),
    "claude-opus-4-5": _anthropic(5, 25),
    "claude-opus-4-1": _anthropic(15, 75),
    "claude-opus-4": _anthropic(15, 75),
    "claude-sonnet-5": _anthropic(2, 10),
    "claude-sonnet-4-6": _anthropic(3, 15),
    "claude-sonnet-4-5": _anthropic(3, 15),
    "claude-sonnet-4": _anthropic(3, 15),
    "claude-haiku-4-5": _anthropic(1, 5),
    "gpt-6-astra": Price(10, 1, 12.5, 50),
    "gpt-5.6": Price(4, 0.4, 5, 20),
    "gpt-5.6-sol": Price(4, 0.4, 5, 20),
    "gpt-5.6-terra": Price(2, 0.2, 2.5, 12),
    "gpt-5.6-luna": Price(0.2, 0.02, 0.25, 1.2),
    "gpt-5.5": _openai(5, 30),
    "gpt-5.4": _openai(2.5, 15),
    "gpt-5.4-mini": _openai(0.75, 4.5),
    "gpt-5.4-nano": _openai(0.2, 1.25),
    "gpt-5.3-codex": _openai(1.75, 14),
    "gpt-5.2": _openai(1.75, 14),
    "gpt-5.2-codex": _openai(1.75, 14),
    "gpt-5.1": _openai(1.25, 10),
    "gpt-5.1-codex": _openai(1.25, 10),
    "gpt-5.1-codex-max": _openai(1.25, 10),
    "gpt-5.1-codex-mini": _openai(0.25, 2),
    "gpt-5": _openai(1.25, 10),
    "gpt-5-codex": _openai(1.25, 10),
    "gpt-5-mini": _openai(0.25, 2),
    "gpt-5-nano": _openai(0.05, 0.4),
    "gpt-4.1": _openai(2, 8, 0.5),
    "gpt-4.1-mini": _openai(0.4, 1.6, 0.1),
    "gpt-4o": _openai(2.5, 10, 1.25),
    "gpt-4o-mini": _openai(0.15, 0.6, 0.075),
}
# What may follow a name in the table and still be that model. A further number or word is another model.
_SUFFIX = re.compile(r"([-@]\d{4}-?\d{2}-?\d{2}|-latest|-v\d(:\d)?|\[1m\])*")


def price(model: str) -> Price | None:
    """Of a model by its name, with or without a provider before it; None where it is not known."""
    bare = model.lower().rpartition("/")[2].removeprefix("us.").removeprefix("anthropic.")
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
