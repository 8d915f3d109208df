"""Why a run of Claude Code failed, in words for the one who asked. Pure."""

from __future__ import annotations

from sandbox.agents import gateway_words
from sandbox.agents.claude_events import Result

_BY_KIND = {
    "max_output_tokens": gateway_words.TOO_LONG,
    "connection_failed": gateway_words.BROKEN,
    "billing_error": gateway_words.NO_CREDITS,
    "prompt_too_long": gateway_words.TOO_MUCH,
    "refusal": gateway_words.REFUSAL,
    "error_max_turns": "The agent used up its number of turns before it was done: ask for a smaller step.",
    "error_max_budget_usd": "The agent used up its budget before it was done: ask for a smaller step.",
    "error_during_execution": "The agent was interrupted before it was done.",
}
# What the CLI says of an interrupted run is of no use to anybody but its makers.
_FOR_ITS_MAKERS = "[ede_diagnostic]"
_NO_TURN = "The agent ended without asking the model anything."


def failure(result: Result, last_error: str = "") -> str:
    """The error of a final event in words, or "" for a success.

    ``last_error`` is the ``error`` of the assistant event before it: it tells a used-up account, which some gateways
    report as 400, from a request that is wrong.
    """
    if not result.is_error and result.subtype == "success":
        return "" if result.num_turns > 0 else _with_quote(_NO_TURN, result)
    return _with_quote(_sentence(result, last_error), result)


def _sentence(result: Result, last_error: str) -> str:
    kinds = (result.subtype, result.terminal_reason, result.api_error, result.stop_reason)
    for kind in (*kinds, result.api_error_status, last_error):
        if isinstance(kind, int) and (words := _by_status(kind, last_error)):
            return words
        if isinstance(kind, str) and kind in _BY_KIND:
            return _BY_KIND[kind]
    return _timed_out(result) or gateway_words.UNSAID


def _by_status(status: int, last_error: str) -> str:
    if status == 400 and last_error in _BY_KIND:
        return _BY_KIND[last_error]
    return gateway_words.by_status(status)


def _timed_out(result: Result) -> str:
    # No field tells a request that was never answered; the text is all there is.
    if (result.result or "").startswith("Request timed out"):
        return gateway_words.LATE
    return ""


def _with_quote(sentence: str, result: Result) -> str:
    said = result.result or "; ".join(result.errors)
    return gateway_words.quoting(sentence, "" if said.lstrip().startswith(_FOR_ITS_MAKERS) else said)
