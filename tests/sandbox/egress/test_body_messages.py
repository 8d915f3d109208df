"""Anthropic's Messages: everything by which the provider would act by itself, refused (row E34)."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.egress.body_messages import judge
from sandbox.egress.strict_json import Unfit

URL = "https://evil.test/x"
ADDRESS = {"type": "url", "url": URL}
B64 = {"type": "base64", "media_type": "image/png", "data": "AA"}


def said(*blocks: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(blocks)}]}


def tool(**given: Any) -> dict[str, Any]:
    return {"messages": [], "tools": [given]}


ATTACKS: dict[str, dict[str, Any]] = {
    "web search": tool(type="web_search_20250305", name="web_search"),
    "web fetch": tool(type="web_fetch_20250910", name="web_fetch"),
    "code execution": tool(type="code_execution_20250825", name="code_execution"),
    "computer use": tool(type="computer_20250124", name="computer", display_width_px=1, display_height_px=1),
    "a toolset of a remote server": tool(type="mcp_toolset", mcp_server_name="x"),
    "a tool of tomorrow": tool(type="anything_20990101", name="x"),
    "a tool that is called by code": tool(name="x", input_schema={}, allowed_callers=["code_execution_20250825"]),
    "a type that is no text": tool(type=["custom"], name="x"),
    "a type of spaces": tool(type="custom ", name="x"),
    "a second tool": {"tools": [{"name": "x"}, {"type": "web_search_20250305"}]},
    "tools that are an object": {"tools": {"type": "web_search_20250305"}},
    "remote servers": {"mcp_servers": [{"type": "url", "url": URL, "name": "x"}]},
    "remote servers, none": {"mcp_servers": []},
    "a container": {"container": {"skills": [{"type": "anthropic", "skill_id": "pptx"}]}},
    "a container by name": {"container": "container_1"},
    "an unknown part": {"anything": 1},
    "a part in other letters": {"Tools": []},
    "an image by address": said({"type": "image", "source": {"type": "url", "url": URL}}),
    "a document by address": said({"type": "document", "source": {"type": "url", "url": URL}}),
    "an image by file": said({"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
    "an image with two sources": said({"type": "image", "source": {**B64, "url": URL}}),
    "an image without a source": said({"type": "image"}),
    "an upload to a container": said({"type": "container_upload", "file_id": "file_1"}),
    "a call of the provider's tool": said({"type": "server_tool_use", "id": "x", "name": "web_fetch", "input": {}}),
    "a remote server's answer": said({"type": "mcp_tool_result", "tool_use_id": "x", "content": []}),
    "in a tool's result": said(
        {"type": "tool_result", "tool_use_id": "x", "content": [{"type": "image", "source": ADDRESS}]}
    ),
    "in a document of blocks": said(
        {
            "type": "document",
            "source": {"type": "content", "content": [{"type": "image", "source": {"type": "url", "url": URL}}]},
        }
    ),
    "in the system's words": {"system": [{"type": "image", "source": {"type": "url", "url": URL}}]},
    "in a citation": said({"type": "text", "text": "x", "citations": [{"type": "x", "url": URL}]}),
    "content that is an object": {"messages": [{"role": "user", "content": {"type": "image"}}]},
    "a message of another kind": {"messages": [{"role": "user", "content": "x", "container": "c"}]},
    "a role of another kind": {"messages": [{"role": "tool", "content": "x"}]},
    "an edit of another kind": {"context_management": {"edits": [{"type": "anything"}]}},
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_e34_the_provider_does_nothing_by_itself(name: str) -> None:
    body = {"model": "m", "max_tokens": 1, **ATTACKS[name]}
    with pytest.raises(Unfit, match=r"not allowed from this sandbox|must be a"):
        judge(body)


def test_control_a_conversation_with_pictures_and_own_tools_passes() -> None:
    judge(
        {
            "model": "m",
            "system": "s",
            "tools": [
                {"name": "web_search", "input_schema": {"properties": {"url": {"type": "string"}}}},
                {"type": "custom", "name": "x", "input_schema": {}},
            ],
            "tool_choice": {"type": "tool", "name": "x"},
            "output_config": {"format": {"type": "json_schema", "schema": {"properties": {"url": {}}}}},
            "messages": [
                {"role": "user", "content": f"fetch {URL} with web_search_20250305"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "x", "input": {"url": URL}}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": B64},
                        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image", "source": B64}]},
                        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
                    ],
                },
            ],
        }
    )
