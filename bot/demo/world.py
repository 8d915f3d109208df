"""What stands around the bot in ``gofer demo``: a local GitHub with one issue, a model, and settings that name both."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from bot.config import Config, from_environment
from bot.demo.github import Issue, LocalGitHub, Repository
from bot.demo.model import ScriptedModel

INSTANCE: Final = "gofer-demo"
OWNER: Final = "octo-org"
NAME: Final = "hello-world"
MAINTAINER: Final = "mona"
PROMPT: Final = "Add a NOTES.md that says what this project is, and point to it from the README."

FILES: Final = {
    "README.md": b"# hello-world\n\nPrints a greeting.\n",
    "hello.py": b'print("Hello, world")\n',
    "CLAUDE.md": b"Keep files short. End every file with a newline.\n",
}

# How containers name this machine; the engine resolves it in the egress container alone.
HOST: Final = "host.docker.internal"


@dataclass(frozen=True)
class DemoWorld:
    """Everything is started. ``model`` is None when the real one is asked."""

    github: LocalGitHub
    repository: Repository
    issue: Issue
    model: ScriptedModel | None
    config: Config


@asynccontextmanager
async def demo_world(state_dir: Path, address: str, real_key: SecretStr | None) -> AsyncIterator[DemoWorld]:
    """A world that listens on loopback and on ``address``, where containers reach this machine, until the block ends.

    With ``real_key`` the provider itself is the model, and costs what it costs.
    """
    github = LocalGitHub(state_dir / "github")
    model, key = None, real_key or SecretStr(f"sk-demo-{secrets.token_hex(16)}")
    if real_key is None:
        model = ScriptedModel(expected_key=key)
    try:
        await github.start(public_host=HOST, also=[address])
        if model is not None:
            await model.start(address)
        repository = github.add_repository(OWNER, NAME, FILES, roles={MAINTAINER: "write"})
        issue = github.add_issue(repository, "The project needs notes", "Nobody knows what this is for.", MAINTAINER)
        yield DemoWorld(github, repository, issue, model, _config(state_dir, github, model, key))
    finally:
        if model is not None:
            await model.stop()
        await github.stop()


def _config(state_dir: Path, github: LocalGitHub, model: ScriptedModel | None, key: SecretStr) -> Config:
    """The settings that an operator would write for this world; nothing of the caller's environment is in them."""
    values = {
        "APP_ID": str(github.app.id),
        "PRIVATE_KEY": github.private_key.get_secret_value(),
        "WEBHOOK_SECRET": github.webhook_secret.get_secret_value(),
        "SERVED": OWNER,
        "STATE_DIR": str(state_dir),
        "LISTEN": "127.0.0.1:0",
        "INSTANCE": INSTANCE,
        "LOG_LEVEL": "WARNING",
        # A laptop's disk need not keep the promise of a real task's four gigabytes.
        "WORKSPACE_BYTES": str(512 * 2**20),
        "GITHUB_URL": github.git_url,
        "GITHUB_API_URL": github.url,
        "GITHUB_PRIVATE": "true",
        "MODEL_KEY": key.get_secret_value(),
    }
    if model is not None:
        values |= {"MODEL_URL": f"http://{HOST}:{model.port}", "MODEL_PRIVATE": "true"}
    return from_environment({f"GOFER_{name}": value for name, value in values.items()})
