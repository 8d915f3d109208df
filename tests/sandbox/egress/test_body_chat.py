"""OpenAI's Chat Completions: everything that the provider would fetch, keep or do by itself, refused (row E34)."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.egress.body_chat import judge
from sandbox.egress.strict_json import Unfit

URL = "https://evil.test/x"
PNG = "data:image/png;base64,AA"


def said(*parts: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts)}]}


ATTACKS: dict[str, dict[str, Any]] = {
    "web search": {"web_search_options": {}},
    "search of another provider": {"search_parameters": {"mode": "on"}},
    "plugins of another provider": {"plugins": [{"id": "web"}]},
    "another provider": {"provider": {"order": ["x"]}},
    "a tool of the provider's": {"tools": [{"type": "web_search"}]},
    "a remote server": {"tools": [{"type": "mcp", "server_url": URL}]},
    "a tool without a type": {"tools": [{"function": {"name": "x"}}]},
    "a tool with more": {"tools": [{"type": "function", "function": {"name": "x"}, "server_url": URL}]},
    "functions of old": {"functions": [{"name": "x"}]},
    "an image by address": said({"type": "image_url", "image_url": {"url": URL}}),
    "an image by address, short": said({"type": "image_url", "image_url": URL}),
    "a file by file": said({"type": "file", "file": {"file_id": "file-1"}}),
    "a video by address": said({"type": "video_url", "video_url": {"url": URL}}),
    "sound": said({"type": "input_audio", "input_audio": {"data": "AA"}}),
    "an answer that is kept": {"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]},
    "content that is an object": {"messages": [{"role": "user", "content": {"url": URL}}]},
    "keeping": {"store": True},
    "keeping, otherwise": {"store": "true"},
    "a role of another kind": {"messages": [{"role": "function", "content": "x"}]},
    "a choice of another kind": {"tool_choice": {"type": "web_search"}},
    "a call of another kind": {"messages": [{"role": "assistant", "tool_calls": [{"type": "mcp"}]}]},
    "an unknown part": {"anything": 1},
}


@pytest.mark.parametrize("name", ATTACKS)
def test_e34_the_provider_does_nothing_by_itself_and_keeps_nothing(name: str) -> None:
    with pytest.raises(Unfit, match=r"not allowed from this sandbox|must be"):
        judge({"model": "m", "messages": [], **ATTACKS[name]})


def test_control_a_conversation_with_pictures_and_own_tools_passes() -> None:
    function = {"name": "x", "parameters": {"properties": {"url": {"type": "string"}}}}
    judge(
        {
            "model": "m",
            "tools": [{"type": "function", "function": function}],
            "tool_choice": "auto",
            "response_format": {"type": "json_schema", "json_schema": {"schema": {"properties": {"url": {}}}}},
            "messages": [
                {"role": "system", "content": f"fetch {URL}"},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG}}]},
                {"role": "user", "content": [{"type": "file", "file": {"file_data": PNG, "filename": "x"}}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "x", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "1", "content": "x"},
            ],
        }
    )
