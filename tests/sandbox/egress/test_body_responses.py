"""OpenAI's Responses: everything that the provider would fetch, run, keep or take from its store, refused (row E34)."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.egress.body_responses import judge
from sandbox.egress.strict_json import Unfit

URL = "https://evil.test/x"
PNG = "data:image/png;base64,AA"


def said(*parts: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": list(parts)}]}


def tool(**given: Any) -> dict[str, Any]:
    return {"tools": [given]}


ATTACKS: dict[str, dict[str, Any]] = {
    "web search": tool(type="web_search"),
    "web search, an older one": tool(type="web_search_preview"),
    "file search": tool(type="file_search", vector_store_ids=["vs_1"]),
    "code": tool(type="code_interpreter", container={"type": "auto"}),
    "a computer": tool(type="computer_use_preview", environment="browser"),
    "a hosted shell": tool(type="shell", environment={"type": "container_auto"}),
    "pictures": tool(type="image_generation"),
    "a remote server": tool(type="mcp", server_label="x", server_url=URL, require_approval="never"),
    "a connector": tool(type="mcp", server_label="x", connector_id="connector_gmail"),
    "a tool in a namespace": tool(type="namespace", name="n", tools=[{"type": "web_search"}]),
    "a tool in a namespace in a namespace": tool(
        type="namespace", name="n", tools=[{"type": "namespace", "name": "m", "tools": [{"type": "mcp"}]}]
    ),
    "a tool search by the provider": tool(type="tool_search"),
    "a tool search by the provider, said": tool(type="tool_search", execution="server"),
    "a tool without a type": tool(name="x"),
    "a tool that comes as input": {"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]},
    "a choice of the provider's": {"tool_choice": {"type": "web_search"}},
    "a choice among the provider's": {"tool_choice": {"type": "allowed_tools", "tools": [{"type": "mcp"}]}},
    "an earlier response": {"previous_response_id": "resp_1"},
    "a conversation that is kept": {"conversation": "conv_1"},
    "a prompt that is kept": {"prompt": {"id": "pmpt_1"}},
    "the background": {"background": True},
    "keeping": {"store": True},
    "keeping, by saying nothing": {"store": None},
    "an item by reference": {"input": [{"type": "item_reference", "id": "msg_1"}]},
    "a call of the provider's tool": {"input": [{"type": "web_search_call", "id": "x", "status": "completed"}]},
    "an approval for a remote server": {"input": [{"type": "mcp_approval_response", "approve": True}]},
    "an image by address": said({"type": "input_image", "image_url": URL}),
    "an image by file": said({"type": "input_image", "file_id": "file-1"}),
    "a file by address": said({"type": "input_file", "file_url": URL}),
    "a file by file": said({"type": "input_file", "file_id": "file-1"}),
    "sound": said({"type": "input_audio", "input_audio": {"data": "AA"}}),
    "in a tool's output": {
        "input": [{"type": "function_call_output", "output": [{"type": "input_image", "image_url": URL}]}]
    },
    "results of a search": {"include": ["web_search_call.action.sources"]},
    "an item of another kind": {"input": [{"type": "anything"}]},
    "input that is an object": {"input": {"type": "item_reference"}},
    "an unknown part": {"anything": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_e34_the_provider_does_nothing_by_itself_and_keeps_nothing(name: str) -> None:
    with pytest.raises(Unfit, match=r"not allowed from this sandbox|must be"):
        judge({"model": "m", "store": False, "input": [], **ATTACKS[name]})


def test_e34_to_keep_nothing_must_be_said() -> None:
    with pytest.raises(Unfit, match='"store" must be false'):
        judge({"model": "m", "input": []})


def test_control_a_conversation_with_pictures_and_own_tools_passes() -> None:
    judge(
        {
            "model": "m",
            "store": False,
            "instructions": f"fetch {URL}",
            "tools": [
                {"type": "function", "name": "web_search", "parameters": {"properties": {"url": {"type": "string"}}}},
                {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "y", "parameters": {}}]},
                {"type": "tool_search", "execution": "client"},
            ],
            "tool_choice": {"type": "function", "name": "web_search"},
            "input": [
                {"role": "user", "content": [{"type": "input_image", "image_url": PNG, "detail": "auto"}]},
                {"type": "function_call", "call_id": "1", "name": "x", "arguments": f'{{"url":"{URL}"}}'},
                {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_image", "image_url": PNG}]},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "s"},
            ],
        }
    )
    judge({"model": "m", "store": False, "input": "a text"})
