"""Why a run of Claude Code failed, in words for the one who asked. Pure.

The CLI's own text is written for somebody at its terminal ("Run --model to pick a different model"): it is quoted
behind a sentence that says what happened here and who can do something about it.
"""

from __future__ import annotations

from sandbox.agents.claude_events import Result

# Long enough for every message of the CLI that was seen; a gateway may answer with a page.
MAX_QUOTE_CHARS = 500

_BY_STATUS = {
    401: "The model gateway refused the key (401): it is wrong for that account or gateway, and the operator must set"
    " another.",
    402: "The model account has no credits left (402): the operator must add some.",
    403: "The model gateway does not let this key use that model (403): the operator must allow it or choose another.",
    404: "The model gateway does not know the model (404): the operator must choose another.",
    413: "The request grew too large for the model gateway (413): ask for a smaller step.",
    429: "The model's rate limit was reached (429) and lasted through all retries: try again later.",
    529: "The model was overloaded (529) through all retries: try again later.",
}
_BY_KIND = {
    "max_output_tokens": "One answer of the model was longer than the output limit: ask for a smaller step.",
    "connection_failed": "The connection to the model gateway broke and all retries failed: try again later.",
    "billing_error": "The model account has no credits left: the operator must add some.",
    "prompt_too_long": "The conversation grew too large for the model: ask for a smaller step.",
    "refusal": "The model refused this request.",
    "error_max_turns": "The agent used up its number of turns before it was done: ask for a smaller step.",
    "error_max_budget_usd": "The agent used up its budget before it was done: ask for a smaller step.",
    "error_during_execution": "The agent was interrupted before it was done.",
}
# What the CLI says of an interrupted run is of no use to anybody but its makers.
_FOR_ITS_MAKERS = "[ede_diagnostic]"
_UNSAID = "The agent reported an error."
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
    return _timed_out(result) or _UNSAID


def _by_status(status: int, last_error: str) -> str:
    if status == 400 and last_error in _BY_KIND:
        return _BY_KIND[last_error]
    if 500 <= status < 600 and status not in _BY_STATUS:
        return f"The model gateway failed ({status}) through all retries: try again later."
    return _BY_STATUS.get(status, f"The model gateway refused the request ({status}).")


def _timed_out(result: Result) -> str:
    # No field tells a request that was never answered; the text is all there is.
    if (result.result or "").startswith("Request timed out"):
        return "The model gateway did not answer in time, also when asked again: try again later."
    return ""


def _with_quote(sentence: str, result: Result) -> str:
    said = " ".join((result.result or "; ".join(result.errors)).split())
    if not said or said.startswith(_FOR_ITS_MAKERS):
        return sentence
    return f"{sentence} The agent said: {said[:MAX_QUOTE_CHARS]}"
