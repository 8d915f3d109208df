"""A whole server for tests: settings for the local GitHub, a fake sandbox behind the opener."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.config import Config
from bot.demo.github import LocalGitHub
from sandbox import Sandbox, Settings
from tests.bot.fake_sandbox import FakeSandbox

NOWHERE = "https://github.invalid"


def config_for(folder: Path, local: LocalGitHub | None = None, **more: Any) -> Config:
    """Settings that need nothing but the folder; ``local`` is the GitHub to talk to."""
    values: dict[str, Any] = {
        "app_id": str(local.app.id) if local else "1",
        "private_key": local.private_key if local else PEM,
        "webhook_secret": local.webhook_secret if local else "8f1f0c3b5a7d9e2460b1c2d3e4f5a697",
        "served": "octo",
        "model_key": "sk-canary",
        "github_url": local.git_url if local else NOWHERE,
        "github_private": True,
        "github_api_url": local.url if local else NOWHERE,
        "state_dir": folder,
        "listen": "127.0.0.1:0",
    }
    return Config(**(values | more))


PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEcanary\n-----END RSA PRIVATE KEY-----\n"


def opener_of(sandbox: FakeSandbox) -> Any:
    async def opener(url: str, settings: Settings) -> Sandbox:
        await sandbox._called("open", "")
        return sandbox

    return opener
