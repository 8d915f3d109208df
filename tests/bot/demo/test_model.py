"""The scripted model over real HTTP: every scenario as a client sees it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from pydantic import SecretStr

from bot.demo import scenarios
from bot.demo.model import ScriptedModel
from bot.demo.say import STATUSES

KEY = SecretStr("sk-real-0123456789")
# What never comes is looked for as long as this; loopback answers within a few ms.
NEVER_SECONDS = 0.3


@asynccontextmanager
async def running(scenario: str = "ok", **options: Any) -> AsyncIterator[tuple[ScriptedModel, aiohttp.ClientSession]]:
    model = ScriptedModel(scenario, **options)
    await model.start()
    try:
        async with aiohttp.ClientSession(model.url) as client:
            yield model, client
    finally:
        await model.stop()


def body(*, stream: bool = True, prompt: str = "Write.") -> dict[str, Any]:
    return {
        "model": "m",
        "stream": stream,
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"name": "Bash"}, {"name": "Write"}],
    }


async def ask(client: aiohttp.ClientSession, **options: Any) -> tuple[int, str]:
    headers = options.pop("headers", {"x-api-key": "placeholder"})
    async with client.post("/v1/messages?beta=true", json=body(**options), headers=headers) as response:
        return response.status, await response.text()


def names(stream: str) -> list[str]:
    return [line.removeprefix("event: ") for line in stream.splitlines() if line.startswith("event: ")]


async def test_a_stream_is_sent_as_the_api_sends_it() -> None:
    async with running("noop") as (_, client), client.post("/v1/messages", json=body()) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert response.headers["Transfer-Encoding"] == "chunked"
        assert response.headers["request-id"].startswith("req_")
        text = await response.text()
    assert names(text)[:2] == ["message_start", "ping"]
    assert names(text)[-2:] == ["message_delta", "message_stop"]


async def test_an_answer_that_is_not_streamed_has_its_length() -> None:
    async with running("noop") as (_, client), client.post("/v1/messages", json=body(stream=False)) as response:
        assert int(response.headers["Content-Length"]) == len(await response.read())
        assert (await response.json())["stop_reason"] == "end_turn"


@pytest.mark.parametrize("status", STATUSES)
async def test_every_status_is_answered_with_its_error(status: int) -> None:
    async with running(str(status), retry_after="7") as (_, client), client.post("/v1/messages", json=body()) as answer:
        assert answer.status == status
        assert answer.headers["Retry-After"] == "7"
        assert (await answer.json())["type"] == "error"


async def test_html_is_a_page_of_a_proxy() -> None:
    async with running("html") as (_, client):
        status, text = await ask(client)
    assert (status, text[:6]) == (502, "<html>")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("scenario", ["nocontact", "drop"])
async def test_a_connection_is_closed_in_the_middle(scenario: str, stream: bool) -> None:
    async with running(scenario) as (_, client):
        with pytest.raises(aiohttp.ClientError):
            await ask(client, stream=stream)


@pytest.mark.parametrize("scenario", ["cut", "garbage", "streamerror"])
async def test_a_stream_ends_cleanly_but_early(scenario: str) -> None:
    async with running(scenario) as (_, client):
        status, text = await ask(client)
    assert status == 200
    assert "message_stop" not in names(text)
    assert ("error" in names(text)) == (scenario == "streamerror")
    assert ("{not json" in text) == (scenario == "garbage")


@pytest.mark.parametrize(("scenario", "starts"), [("hang", False), ("stall", True)])
async def test_a_request_hangs_and_stop_does_not_wait_for_it(scenario: str, starts: bool) -> None:
    async with running(scenario) as (model, client):
        assert await begins_and_never_ends(client) == starts
        hanging = client.post("/v1/messages", json=body(stream=False))
        async with asyncio.TaskGroup() as group:
            group.create_task(expect_broken(hanging))
            await model.wait_for_questions(2, 5)
            async with asyncio.timeout(5):
                await model.stop()


async def begins_and_never_ends(client: aiohttp.ClientSession) -> bool:
    """Whether an answer began; a failure where it also ended."""
    began = False
    try:
        async with asyncio.timeout(NEVER_SECONDS), client.post("/v1/messages", json=body()) as response:
            began = True
            await response.read()
    except TimeoutError:
        return began
    raise AssertionError("it ended")


async def expect_broken(request: Any) -> None:
    with pytest.raises(aiohttp.ClientError):
        await request


async def test_it_fails_as_often_as_it_was_told_and_then_goes_on() -> None:
    async with running("500") as (model, client):
        model.fail_times = 2
        assert [(await ask(client))[0] for _ in range(4)] == [500, 500, 200, 200]


async def test_the_prompt_chooses_the_scenario() -> None:
    async with running("noop") as (model, client):
        status, _ = await ask(client, prompt=f"Do it. {scenarios.marker('402')}")
        assert status == 402
        assert [seen.scenario for seen in model.questions] == ["402"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"x-api-key": "placeholder"}, 401),
        ({"x-api-key": KEY.get_secret_value() + "x"}, 401),
        ({"authorization": f"Bearer {KEY.get_secret_value()}"}, 401),
        ({"x-api-key": KEY.get_secret_value()}, 200),
    ],
)
async def test_only_the_real_key_opens_the_door(headers: dict[str, str], status: int) -> None:
    async with running("noop", expected_key=KEY) as (model, client):
        assert (await ask(client, headers=headers))[0] == status
        assert len(model.questions) == (status == 200)
        assert len(model.seen) == 1


async def test_a_key_may_be_expected_as_a_bearer_token() -> None:
    async with running("noop", expected_key=KEY, key_header="authorization") as (_, client):
        assert (await ask(client, headers={"Authorization": f"Bearer {KEY.get_secret_value()}"}))[0] == 200


async def test_what_came_in_is_kept_but_not_shown() -> None:
    async with running("noop") as (model, client):
        await ask(client, headers={"X-Api-Key": KEY.get_secret_value()})
        (seen,) = model.questions
    assert (seen.method, seen.path) == ("POST", "/v1/messages?beta=true")
    assert seen.headers["x-api-key"] == KEY.get_secret_value()
    assert json.loads(seen.body)["model"] == "m"
    assert KEY.get_secret_value() not in repr(seen)


@pytest.mark.parametrize("sent", [b"", b"{}", b"[]", b"\xff", b'{"model": 1, "messages": []}'])
async def test_a_request_that_is_none_is_refused(sent: bytes) -> None:
    async with running() as (model, client):
        async with client.post("/v1/messages", data=sent) as response:
            assert response.status == 400
        assert model.questions == []


@pytest.mark.parametrize(("method", "path"), [("HEAD", "/api/hello"), ("GET", "/v1/messages"), ("POST", "/v1/files")])
async def test_anything_else_is_not_here_and_is_written_down(method: str, path: str) -> None:
    async with running() as (model, client):
        async with client.request(method, path) as response:
            assert response.status == 404
        assert [(seen.method, seen.path) for seen in model.seen] == [(method, path)]


async def test_a_gateways_path_prefix_is_fine() -> None:
    path = "/v1/account/gateway/anthropic/v1/messages"
    async with running("noop") as (_, client), client.post(path, json=body()) as response:
        assert response.status == 200


async def test_stop_is_fine_twice_and_before_start() -> None:
    model = ScriptedModel()
    await model.stop()
    await model.start()
    await model.stop()
    await model.stop()
