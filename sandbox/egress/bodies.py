"""The body of a request to the model, judged whole before a byte of it goes upstream. Pure; standard library only.

What was judged is what is sent, byte for byte. Default deny: a part, a type of content or a kind of tool that is not
known is refused, since it may be the provider's next way to fetch, run or keep something on the client's behalf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.egress import body_chat, body_messages, body_responses
from sandbox.egress.strict_json import Unfit, parsed

__all__ = ["Unfit", "judged"]

_JUDGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "anthropic-messages": body_messages.judge,
    "openai-responses": body_responses.judge,
    "openai-chat": body_chat.judge,
}


def judged(api: str, data: bytes, *, server_side: bool) -> dict[str, Any]:
    """The body of an allowed request. Raises ``Unfit`` in words, and ``KeyError`` for an API that is not known.

    ``server_side``: the operator lets the provider act by itself; then only what could be read in two ways is refused.
    """
    judge, body = _JUDGES[api], parsed(data)
    if not server_side:
        judge(body)
    return body
