"""What the wire says that a task used, beside what its agent says. Pure."""

from __future__ import annotations

from sandbox.egress.report import Report
from sandbox.job import Usage
from sandbox.prices import MILLION, Price

# A CLI rounds, leaves out its own side requests, or counts an answer that broke: a few per cent are nobody's mistake.
DIFFERS_SHARE = 0.1
# Of a short run a few hundred tokens are much more than that, and still nothing.
DIFFERS_TOKENS = 1_000


def metered(journal: Report, price: Price | None) -> Usage:
    """Tokens as the egress read them from the wire, and what they cost by the price table; unknown where no answer
    told any."""
    used = journal.used
    if used is None:
        return Usage()
    cost = None
    if price is not None:
        spent = (
            used.input * price.input
            + used.cached * price.cached
            + used.cache_write * price.cache_write
            + used.output * price.output
        )
        cost = round(spent / MILLION, 6)
    return Usage(
        input_tokens=used.input + used.cache_write,
        cached_input_tokens=used.cached,
        output_tokens=used.output,
        cost_usd=cost,
        cost_is_estimate=cost is not None,
    )


def differences(said: Usage, wire: Usage, journal: Report) -> tuple[str, ...]:
    """Sentences for the outcome where the agent's figures and the wire's are not the same."""
    found = []
    if journal.untold:
        answers = f"{journal.untold} answer{'s' if journal.untold > 1 else ''}"
        found.append(f"Of {answers} of the model it is not known how many tokens they took.")
    agent, measured = _total(said), _total(wire)
    if agent is not None and measured is not None and not journal.untold and _differ(agent, measured):
        found.append(
            f"The agent says that it used {agent:,} tokens; {measured:,} were counted on the way to the model."
        )
    return tuple(found)


def _total(usage: Usage) -> int | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + (usage.cached_input_tokens or 0) + usage.output_tokens


def _differ(one: int, other: int) -> bool:
    return abs(one - other) > max(DIFFERS_TOKENS, DIFFERS_SHARE * max(one, other))
