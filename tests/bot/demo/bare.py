"""Bare requests to the local GitHub, as anybody could make them."""

from __future__ import annotations

import json
from typing import Any

import aiohttp

from bot.demo.github import LocalGitHub
from bot.github_auth import app_jwt, load_key
from tests.github_world import FakeTime, Place

HEADERS = {"User-Agent": "test", "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


async def ask(
    server: LocalGitHub, method: str, path: str, *, bearer: str = "", body: Any = None
) -> tuple[int, Any, dict[str, str]]:
    """One bare request."""
    headers = HEADERS | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, server.url + path, headers=headers, json=body, allow_redirects=False) as response,
    ):
        text = await response.text()
        return response.status, json.loads(text) if text else None, dict(response.headers)


def as_app(server: LocalGitHub, time: FakeTime) -> str:
    return app_jwt(str(server.app.id), load_key(server.private_key), time())


async def token_for(
    server: LocalGitHub, time: FakeTime, place: Place, permissions: dict[str, str] | None = None
) -> str:
    body = {"repository_ids": [place.repository.id], "permissions": permissions or {"issues": "write"}}
    path = f"/app/installations/{place.where.installation_id}/access_tokens"
    status, answer, _ = await ask(server, "POST", path, bearer=as_app(server, time), body=body)
    assert status == 201
    return str(answer["token"])
