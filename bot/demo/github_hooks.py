"""Webhooks as GitHub sends them: signed, numbered, with its headers, and ten seconds to answer."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from typing import Any

import aiohttp
from pydantic import SecretStr

from bot.demo.github_log import Delivery

# "Your server should respond with a 2XX response within 10 seconds of receiving a webhook delivery."
ANSWER_TIMEOUT = aiohttp.ClientTimeout(total=10.0)


def signed_headers(
    event: str, delivery_id: str, body: bytes, secret: SecretStr, *, hook_id: int, app_id: int
) -> dict[str, str]:
    """All the headers of a delivery for a GitHub App."""
    key = secret.get_secret_value().encode()
    return {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/044aadd",
        "X-GitHub-Delivery": delivery_id,
        "X-GitHub-Event": event,
        "X-GitHub-Hook-ID": str(hook_id),
        "X-GitHub-Hook-Installation-Target-ID": str(app_id),
        "X-GitHub-Hook-Installation-Target-Type": "integration",
        "X-Hub-Signature": "sha1=" + hmac.new(key, body, hashlib.sha1).hexdigest(),
        "X-Hub-Signature-256": "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest(),
    }


class Hook:
    """The App's one webhook: where it goes and what it is signed with."""

    def __init__(self, url: str, secret: SecretStr, *, hook_id: int, app_id: int) -> None:
        self._url = url
        self._secret = secret
        self._hook_id = hook_id
        self._app_id = app_id
        self._session = aiohttp.ClientSession(trust_env=False, cookie_jar=aiohttp.DummyCookieJar())

    async def send(self, event: str, payload: dict[str, Any], delivery_id: str = "") -> Delivery:
        """Send one delivery, a new one unless an id is given, and say how it was answered. Never raises for that."""
        return await self.resend(event, payload.get("action", ""), json.dumps(payload).encode(), delivery_id)

    async def resend(self, event: str, action: str, body: bytes, delivery_id: str = "") -> Delivery:
        """Send these very bytes."""
        delivery_id = delivery_id or str(uuid.uuid4())
        headers = signed_headers(event, delivery_id, body, self._secret, hook_id=self._hook_id, app_id=self._app_id)
        try:
            async with self._session.post(
                self._url, data=body, headers=headers, timeout=ANSWER_TIMEOUT, allow_redirects=False
            ) as response:
                status: int | None = response.status
        except (aiohttp.ClientError, TimeoutError, OSError):
            status = None
        return Delivery(delivery_id, event, action, body, status)

    async def close(self) -> None:
        await self._session.close()
