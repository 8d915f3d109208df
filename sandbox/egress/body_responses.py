"""What a request of OpenAI's Responses API may hold: a conversation and the client's own tools. Pure.

Nothing may be kept at the provider or taken from there (``store``, an earlier response, a prompt, a file, an item by
reference), run in the background, or be done by the provider itself.
"""

from __future__ import annotations

from typing import Any

from sandbox.egress.strict_json import Unfit, no_references, object_or_none, objects, one_of, only, words

KEYS = words(
    "model input instructions tools tool_choice parallel_tool_calls max_output_tokens max_tool_calls reasoning text"
    " include stream stream_options store temperature top_p truncation prompt_cache_key prompt_cache_retention"
    " client_metadata metadata service_tier safety_identifier user"
)
_ROLES = ("user", "assistant", "system", "developer")
# All are done by the client. ``item_reference`` and the calls of the provider's own tools are not among them.
_ITEMS = words(
    "message function_call function_call_output custom_tool_call custom_tool_call_output reasoning local_shell_call"
    " local_shell_call_output tool_search_call tool_search_output additional_tools compaction compaction_trigger"
    " compaction_summary context_compaction"
)
_PARTS = words(
    "input_text output_text text input_image input_file refusal summary_text reasoning_text encrypted_content"
)
_TOOLS = ("function", "custom", "namespace", "tool_search", "local_shell")
_CHOICES = ("auto", "none", "required", "function", "custom", "allowed_tools")
_INCLUDED = ("reasoning.encrypted_content",)
# What a client's tool was called with, and what describes it.
_FREE = ("arguments", "parameters", "format", "client_metadata", "metadata")


def judge(body: dict[str, Any]) -> None:
    """Raises ``strict_json.Unfit``."""
    only("the part", body, KEYS)
    if body.get("store") is not False:
        raise Unfit('"store" must be false: nothing may be kept at the provider')
    for entry in body.get("include") or ():
        one_of("to include", entry, _INCLUDED)
    if not isinstance(body.get("input"), str):
        for item in objects("input", body.get("input")):
            _item(item)
    _tools(body.get("tools"))
    choice = body.get("tool_choice")
    one_of("the tool choice", choice.get("type", "") if isinstance(choice, dict) else choice, ("", *_CHOICES))
    for entry in objects("tools", choice.get("tools") if isinstance(choice, dict) else None):
        one_of("the tool choice", entry.get("type"), _TOOLS)
    no_references(body, _FREE)


def _item(item: dict[str, Any]) -> None:
    kind = one_of("the input", item.get("type"), {"", *_ITEMS})
    if kind in ("", "message"):
        one_of("the role", item.get("role"), _ROLES)
    for name in ("content", "output", "summary"):
        _parts(item.get(name))
    _tools(item.get("tools"))


def _parts(value: Any) -> None:
    """A text, an object of a local shell's result, or a list of parts."""
    if not isinstance(value, list):
        return
    for part in objects("content", value):
        one_of("the content", part.get("type"), _PARTS)


def _tools(value: Any) -> None:
    for tool in objects("tools", value):
        kind = one_of("the tool", tool.get("type"), _TOOLS)
        if kind == "tool_search":
            one_of("the execution of a tool search", tool.get("execution"), ("client",))
        _tools(object_or_none("tool", tool).get("tools"))
