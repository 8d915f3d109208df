"""Which questions to the model are the same one. Pure; standard library only.

A client that is in a loop does not always send the same bytes: OpenCode sends a question again with the broken answer's
beginning at its end, once more each time. So what counts is what is said to the model: all up to the last word that is
not the model's own.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

_CONVERSATION = {"anthropic-messages": "messages", "openai-chat": "messages", "openai-responses": "input"}


def digest(api: str, body: dict[str, Any]) -> bytes:
    """Equal for the same question, whatever the model has answered to it since."""
    name = _CONVERSATION[api]
    said = body.get(name)
    if isinstance(said, list):
        said = list(said)
        while said and _is_the_models(said[-1]):
            said.pop()
    whole = {**body, name: said}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).digest()


def _is_the_models(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    by_kind = isinstance(kind, str) and (kind == "reasoning" or kind.endswith("_call"))
    return item.get("role") == "assistant" or by_kind
