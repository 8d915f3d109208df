"""How OpenAI's APIs say that a request failed: the same for Responses and Chat Completions. Pure.

Shapes as in https://platform.openai.com/docs/guides/error-codes.
"""

from __future__ import annotations

from typing import Any

KEY_HEADER = "authorization"
ID_HEADER = "x-request-id"

# Status, type, code, message. 402, 413 and 529 are not OpenAI's own; gateways send them in its shape.
_ERRORS: dict[str, tuple[int, str, str | None, str]] = {
    "400": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    "401": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "402": (402, "billing_error", "payment_required", "Payment required: budget used up"),
    "403": (403, "permission_error", "forbidden", "This key may not use that resource"),
    "404": (
        404,
        "invalid_request_error",
        "model_not_found",
        "The model does not exist or you have no access to it.",
    ),
    "413": (413, "invalid_request_error", "request_too_large", "Request too large"),
    "429": (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests"),
    "500": (500, "server_error", None, "The server had an error while processing your request. Sorry about that!"),
    "503": (503, "server_error", "service_unavailable", "Service unavailable"),
    "529": (529, "server_error", "overloaded", "Overloaded"),
    "quota": (
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
}


def failure(name: str) -> tuple[int, dict[str, Any]]:
    """Status and body of this failure: a status of ``STATUSES`` as text, or ``quota``."""
    status, kind, code, said = _ERRORS[name]
    return status, {"error": {"message": said, "type": kind, "param": None, "code": code}}
