"""What holds for every API that the scripted model speaks, over real HTTP."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from pydantic import SecretStr

from bot.demo import apis, chat, messages, responses
from bot.demo.apis import Api
from bot.demo.model import ScriptedModel
from bot.demo.scenarios import BREAKS, FAILURES

KEY = SecretStr("sk-real-0123456789")
USER = [{"role": "user", "content": "Go."}]
TOOL = {"type": "function", "name": "bash", "parameters": {}}
ROWS: dict[str, tuple[Api, dict[str, Any]]] = {
    "/v1/messages": (messages, {"messages": USER, "tools": [{"name": "Bash"}]}),
    "/v1/responses": (responses, {"input": USER, "tools": [TOOL]}),
    "/v1/chat/completions": (chat, {"messages": USER, "tools": [{"type": "function", "function": TOOL}]}),
}


@pytest.mark.parametrize(
    ("path", "api"),
    [
        *((path, api) for path, (api, _) in ROWS.items()),
        ("/account/gateway/openai/responses", responses),
        ("/v1/account/gateway/compat/chat/completions", chat),
        ("/v1/responses/resp_1", None),
        ("/v1/models", None),
    ],
)
def test_a_path_tells_the_api(path: str, api: Api | None) -> None:
    assert apis.meant(path) is api


async def ask(scenario: str, path: str, *, stream: bool, key: str = "") -> tuple[int, str]:
    api, body = ROWS[path]
    model = ScriptedModel(scenario, expected_key=KEY)
    await model.start()
    try:
        bearer = "Bearer " if api.KEY_HEADER == "authorization" else ""
        headers = {api.KEY_HEADER: bearer + (key or KEY.get_secret_value())}
        sent = {"model": "m", "stream": stream, **body}
        async with (
            aiohttp.ClientSession(model.url) as client,
            client.post(path, json=sent, headers=headers, timeout=aiohttp.ClientTimeout(0.3)) as response,
        ):
            assert scenario == "html" or response.headers[api.ID_HEADER].startswith("req_")
            return response.status, await response.text()
    finally:
        await model.stop()


@pytest.mark.parametrize("path", ROWS)
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_is_said(path: str, stream: bool) -> None:
    status, text = await ask("noop", path, stream=stream)
    assert status == 200
    assert ("data: " in text) == stream
    assert "Nothing" in text


@pytest.mark.parametrize("path", ROWS)
@pytest.mark.parametrize("name", FAILURES)
async def test_a_status_is_answered(path: str, name: str) -> None:
    status, text = await ask(name, path, stream=True)
    assert (status, json.loads(text)["error"]) == (ROWS[path][0].failure(name)[0], json.loads(text)["error"])


@pytest.mark.parametrize("path", ROWS)
@pytest.mark.parametrize("kind", BREAKS)
async def test_a_stream_breaks_as_it_should(path: str, kind: str) -> None:
    if kind in {"nocontact", "drop", "hang", "stall"}:
        with pytest.raises(TimeoutError if kind in {"hang", "stall"} else aiohttp.ClientError):
            await ask(kind, path, stream=True)
        return
    status, text = await ask(kind, path, stream=True)
    assert status == (502 if kind == "html" else 200)
    assert "[DONE]" not in text
    assert "_stop" not in text
    assert "completed" not in text
    assert ("{not json" in text) == (kind == "garbage")


@pytest.mark.parametrize("path", ROWS)
async def test_another_key_is_refused(path: str) -> None:
    assert (await ask("noop", path, stream=True, key="placeholder"))[0] == 401
