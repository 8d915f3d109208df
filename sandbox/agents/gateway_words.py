"""What a model gateway's refusal means to the one who asked, whichever CLI met it: a sentence, and who can help. Pure.

The CLIs' own texts are written for somebody at their terminal ("Run --model to pick a different model"): they are
quoted behind such a sentence.
"""

from __future__ import annotations

# Long enough for every message of a CLI that was seen; a gateway may answer with a page.
MAX_QUOTE_CHARS = 500

BROKEN = "The connection to the model gateway broke and all retries failed: try again later."
LATE = "The model gateway did not answer in time, also when asked again: try again later."
NO_CREDITS = "The model account has no credits left: the operator must add some."
REFUSAL = "The model refused this request."
TOO_LONG = "One answer of the model was longer than the output limit: ask for a smaller step."
TOO_MUCH = "The conversation grew too large for the model: ask for a smaller step."
UNSAID = "The agent reported an error."

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


def by_status(status: int) -> str:
    """The sentence for an HTTP status that ended a run."""
    if 500 <= status < 600 and status not in _BY_STATUS:
        return f"The model gateway failed ({status}) through all retries: try again later."
    return _BY_STATUS.get(status, f"The model gateway refused the request ({status}).")


def quoting(sentence: str, said: str) -> str:
    """``sentence``, and behind it what the agent said, on one line and bounded; alone where it said nothing."""
    flat = " ".join(said.split())
    return f"{sentence} The agent said: {flat[:MAX_QUOTE_CHARS]}" if flat else sentence
