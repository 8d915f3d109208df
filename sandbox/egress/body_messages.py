"""What a request of Anthropic's Messages API may hold: a conversation and the client's own tools. Pure.

Not allowed is whatever the provider would do by itself: search or fetch, run code, use a computer, connect to other
servers, or read a file that it keeps or an address that it is given.
"""

from __future__ import annotations

from typing import Any

from sandbox.egress.strict_json import no_references, object_or_none, objects, one_of, only, words

KEYS = words(
    "model messages system tools tool_choice metadata max_tokens thinking context_management output_config"
    " output_format stream stop_sequences temperature top_p top_k service_tier cache_control"
)
_ROLES = ("user", "assistant", "system")
# ``container_upload``, ``server_tool_use`` and the results of the provider's own tools are not among them.
_BLOCKS = words("text image document tool_use tool_result tool_reference thinking redacted_thinking compaction")
_SOURCES = ("base64", "text", "content")
# A tool without a type is the client's. The provider's own have a type with a date.
_TOOLS = ("", "custom")
_TOOL_KEYS = words(
    "type name description input_schema cache_control defer_loading eager_input_streaming strict input_examples"
)
_CHOICES = ("auto", "any", "tool", "none")
_EDITS = ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112")
# The model's own arguments for a client's tool, and words for it: no reference whatever they look like.
_FREE = ("input", "input_schema", "input_examples", "schema")


def judge(body: dict[str, Any]) -> None:
    """Raises ``strict_json.Unfit``."""
    only("the part", body, KEYS)
    for message in objects("messages", body.get("messages")):
        only("the part of a message", message, ("role", "content"))
        one_of("the role", message.get("role"), _ROLES)
        _content(message.get("content"))
    _content(body.get("system"))
    for tool in objects("tools", body.get("tools")):
        one_of("the tool", tool.get("type"), _TOOLS)
        only("the part of a tool", tool, _TOOL_KEYS)
    one_of("the tool choice", object_or_none("tool_choice", body.get("tool_choice")).get("type", "auto"), _CHOICES)
    management = object_or_none("context_management", body.get("context_management"))
    only("the part of context_management", management, ("edits",))
    for edit in objects("edits", management.get("edits")):
        one_of("the edit", edit.get("type"), _EDITS)
    no_references(body, _FREE)


def _content(value: Any) -> None:
    if value is None or isinstance(value, str):
        return
    for block in objects("content", value):
        kind = one_of("the content", block.get("type"), _BLOCKS)
        source = block.get("source")
        if kind in ("image", "document"):
            source = object_or_none("source", source)
            one_of("the source", source.get("type"), _SOURCES)
            _content(source.get("content"))
        if kind == "tool_result":
            _content(block.get("content"))
