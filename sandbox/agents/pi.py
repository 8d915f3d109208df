"""Pi 1.6.0 in the sandbox: its command line, its environment, its HOME and its prompt.

``--no-approve`` keeps out what the repository brings for it (``.pi``: settings, extensions, MCP servers, prompts,
skills and system prompts; ``.agents/skills``). AGENTS.override.md, AGENTS.md and CLAUDE.md are read all the same, as
they should be. Of the repository's settings one alone is looked at before that, where sessions are kept: the
environment wins over it, and none is kept.

JSON mode exits with 0 whatever happened: see ``pi_reader``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sandbox.agents.agent import MODEL_PORT, Reader, Run
from sandbox.agents.given import first
from sandbox.agents.pi_models import KNOWN
from sandbox.agents.pi_reader import PiReader
from sandbox.agents.shaped import clean
from sandbox.settings import Api

MODEL_URL = f"http://127.0.0.1:{MODEL_PORT}"

# Gateways name models with all of these (``anthropic/claude-sonnet-4-5@20250929``, Bedrock ARNs).
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}")

# The CLI's own names of providers and of what they speak. The first two bring a catalogue of models; the third is ours.
_PROVIDERS: dict[Api, str] = {"anthropic-messages": "anthropic", "openai-responses": "openai", "openai-chat": "gateway"}
_APIS: dict[Api, str] = {
    "anthropic-messages": "anthropic-messages",
    "openai-responses": "openai-responses",
    "openai-chat": "openai-completions",
}
# For a model that nothing is known of: too small a context costs one request more, too large the run.
_LIMITS = {"contextWindow": 200_000, "maxTokens": 32_000}
# What the CLI takes for a Claude subscription's token: it then introduces itself to the provider as that must be.
_OAUTH_PLACEHOLDER = "sk-ant-oat-placeholder"

# Where the repository's own are not to be read: which of the copies counts.
_NAMES = ("AGENTS.override.md", "AGENTS.md", "CLAUDE.md")

_FIXED = {
    "TMPDIR": "/tmp",  # noqa: S108  (a tmpfs of the sandbox's own)
    "PI_OFFLINE": "1",
    "PI_TELEMETRY": "0",
    "PI_SKIP_VERSION_CHECK": "1",
    "PI_CODING_AGENT_SESSION_DIR": "/tmp/pi-sessions",  # noqa: S108
}


class Pi:
    """``sandbox.agents.agent.Agent`` for Pi."""

    name = "pi"
    image = "pi"
    apis: tuple[Api, ...] = ("anthropic-messages", "openai-responses", "openai-chat")
    default_model = "claude-sonnet-4-5"

    def command(self, run: Run) -> list[str]:
        """The argv; the prompt comes on standard input, so nothing of it is here."""
        if not _MODEL.fullmatch(run.model):
            raise ValueError(f"{run.model!r} is not the name of a model")
        # Two words each: this CLI knows no ``--option=value``.
        return [
            "/usr/local/bin/pi",
            "--print",
            "--mode",
            "json",
            "--no-session",
            "--no-approve",
            *(["--no-context-files"] if run.instructions else []),
            "--provider",
            _PROVIDERS[run.api],
            "--model",
            run.model,
        ]

    def environment(self, run: Run) -> dict[str, str]:
        """All that is set beside PATH, HOME and LANG; no secret is among it: the egress sets the real one."""
        return dict(_FIXED)

    def home(self, run: Run) -> Mapping[str, bytes]:
        """Where the model is, and how long and how often it is asked."""
        return {
            ".pi/agent/models.json": json.dumps({"providers": {_PROVIDERS[run.api]: _provider(run)}}).encode(),
            ".pi/agent/settings.json": json.dumps(_settings(run)).encode(),
        }

    def instructions(self, given: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """The first of the names that it looks for itself, added to its system prompt: its switch keeps context files
        of HOME out as well."""
        return first(given, _NAMES, ".pi/agent/APPEND_SYSTEM.md")

    def prompt(self, text: str) -> bytes:
        """``text`` as UTF-8; the CLI strips white space around it. On standard input nothing in it is a file name."""
        return clean(text).encode()

    def reader(self) -> Reader:
        """A fresh reader for one run."""
        return PiReader()


def _provider(run: Run) -> dict[str, Any]:
    provider: dict[str, Any] = {
        "baseUrl": MODEL_URL if run.api == "anthropic-messages" else f"{MODEL_URL}/v1",
        "api": _APIS[run.api],
        "apiKey": _OAUTH_PLACEHOLDER if run.oauth else "placeholder",
    }
    if run.model in KNOWN.get(_PROVIDERS[run.api], ()):
        return provider
    return {**provider, "models": [{"id": run.model, **_LIMITS}]}


def _settings(run: Run) -> dict[str, Any]:
    retries = run.settings.max_retries
    return {
        "retry": {"enabled": retries > 0, "maxRetries": retries},
        "httpIdleTimeoutMs": run.settings.api_timeout_seconds * 1000,
        "defaultProjectTrust": "never",
        "enableInstallTelemetry": False,
        # Requests that only keep a cache warm are asked of the model on nobody's behalf.
        "cacheWarming": "off",
        "transport": "sse",
    }
