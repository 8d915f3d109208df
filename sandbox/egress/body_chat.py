"""What a request of OpenAI's Chat Completions API may hold: a conversation and the client's own tools. Pure."""

from __future__ import annotations

from typing import Any

from sandbox.egress.strict_json import Unfit, no_references, object_or_none, objects, one_of, only, words

KEYS = words(
    "model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens max_completion_tokens"
    " temperature top_p stop presence_penalty frequency_penalty seed response_format reasoning_effort verbosity store"
    " user metadata prompt_cache_key prompt_cache_retention safety_identifier service_tier"
    # What compatible providers take beside OpenAI's own: how much to think, and how tool calls are streamed.
    " reasoning thinking enable_thinking tool_stream"
)
_ROLES = ("system", "developer", "user", "assistant", "tool")
_PARTS = ("text", "image_url", "refusal", "file", "thinking")
_TOOLS = ("function", "custom")
_CHOICES = ("auto", "none", "required", "function", "custom", "allowed_tools")
# ``audio`` names an earlier answer that the provider keeps.
_MESSAGE_KEYS = words(
    "role content name tool_calls tool_call_id refusal reasoning reasoning_content reasoning_details reasoning_text"
    " reasoning_opaque cache_control"
)
_FREE = ("arguments", "parameters", "json_schema", "metadata")


def judge(body: dict[str, Any]) -> None:
    """Raises ``strict_json.Unfit``."""
    only("the part", body, KEYS)
    if body.get("store") not in (None, False):
        raise Unfit('"store" must be false: nothing may be kept at the provider')
    for message in objects("messages", body.get("messages")):
        only("the part of a message", message, _MESSAGE_KEYS)
        one_of("the role", message.get("role"), _ROLES)
        if isinstance(message.get("content"), list):
            for part in objects("content", message["content"]):
                one_of("the content", part.get("type"), _PARTS)
        for call in objects("tool_calls", message.get("tool_calls")):
            one_of("the tool call", call.get("type"), ("", *_TOOLS))
    for tool in objects("tools", body.get("tools")):
        one_of("the tool", tool.get("type"), _TOOLS)
        only("the part of a tool", tool, ("type", "function", "custom", "cache_control"))
    choice = body.get("tool_choice")
    kind = object_or_none("tool_choice", choice).get("type") if isinstance(choice, dict) else choice
    one_of("the tool choice", kind, ("", *_CHOICES))
    no_references(body, _FREE)
