"""OpenCode 1.18.33 in the sandbox: its command line, its environment, its HOME and its prompt.

What a repository can do to this CLI, measured on the real one: ``opencode.json`` and ``.opencode/opencode.json`` (base
URL, MCP servers, plugins), ``.opencode/plugin``, ``plugins``, ``tool``, ``command`` and ``agent`` are taken, run, and
the JSON files even rewritten, so that they show in the diff. ``OPENCODE_DISABLE_PROJECT_CONFIG=1`` keeps all of it out
but one thing: once a tool is used, a second loader within the CLI, which no switch stops (``OPENCODE_PURE=1`` neither),
imports the files of ``.opencode/plugin``, ``.opencode/plugins`` and ``plugin`` in ``opencode.json``. So a repository's
JavaScript must be held to run, and what holds it is the sandbox: no credential is in there, and nothing is reached.
``.env`` and ``bunfig.toml`` are not read by this binary.

The switch keeps AGENTS.md and CLAUDE.md out too. They come back in through ``instructions`` of our own configuration,
which name the files at the root, whichever are there (both, where both are; the CLI by itself would take AGENTS.md
alone). Those in folders below are found by the CLI when it reads a file near them, as ever.

It has no final event: see ``opencode_reader``. Its five retries (2, 4, 8, 16, 30 s) cannot be set, and a stream that
ends without its end is asked for again without a pause for ever: the egress cuts that (``same_request``).
It needs 640 MiB of memory at least.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sandbox.agents.agent import GIVEN, MODEL_PORT, Reader, Run
from sandbox.agents.opencode_reader import OpenCodeReader
from sandbox.agents.shaped import clean
from sandbox.settings import Api

VERSION = "1.18.33"
MODEL_URL = f"http://127.0.0.1:{MODEL_PORT}"

# Gateways name models with all of these (``anthropic/claude-sonnet-4-5@20250929``, Bedrock ARNs).
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}")

# The CLI's own names. The first two speak the API that they are named after and know their models' limits and prices;
# the third is ours, over the SDK for Chat Completions that is built in.
_PROVIDERS: dict[Api, str] = {"anthropic-messages": "anthropic", "openai-responses": "openai", "openai-chat": "gateway"}
# For a model that nothing is known of. The CLI asks for at most 32,000 tokens whatever a model's own limit is; the
# first figure decides when it folds up a conversation, and too small costs one request where too large costs the run.
_LIMIT = {"context": 200_000, "output": 32_000}

_FIXED = {
    "TMPDIR": "/tmp",  # noqa: S108  (a tmpfs of the sandbox's own)
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    "OPENCODE_PURE": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    # An install that is tried all the same must fail at once and not after a minute.
    "npm_config_fetch_retries": "0",
}
# Where the repository's instructions are not to be read: nor are its skills (.claude/skills, .agents/skills).
_UNREAD = {"OPENCODE_DISABLE_EXTERNAL_SKILLS": "1", "OPENCODE_DISABLE_CLAUDE_CODE_SKILLS": "1"}
# The lock file says that the plugins' library is there, so that the CLI does not try to install it.
_HOME = {
    ".config/opencode/node_modules/.keep": b"",
    ".config/opencode/package-lock.json": json.dumps(
        {"lockfileVersion": 3, "packages": {"": {"dependencies": {"@opencode-ai/plugin": VERSION}}}}
    ).encode(),
}


class OpenCode:
    """``sandbox.agents.agent.Agent`` for OpenCode."""

    name = "opencode"
    image = "opencode"
    apis: tuple[Api, ...] = ("anthropic-messages", "openai-responses", "openai-chat")
    default_model = "claude-sonnet-4-5"

    def command(self, run: Run) -> list[str]:
        """The argv; the prompt comes on standard input, so nothing of it is here."""
        if not _MODEL.fullmatch(run.model):
            raise ValueError(f"{run.model!r} is not the name of a model")
        # Without a title it asks the model for one.
        model = f"{_PROVIDERS[run.api]}/{run.model}"
        return ["/usr/local/bin/opencode", "run", "--format=json", "--title=run", f"--model={model}"]

    def environment(self, run: Run) -> dict[str, str]:
        """All that is set beside PATH, HOME and LANG; no secret is among it: the egress sets the real one."""
        unread = _UNREAD if run.instructions else {}
        return {**_FIXED, **unread, "OPENCODE_CONFIG_CONTENT": json.dumps(_configuration(run))}

    def home(self, run: Run) -> Mapping[str, bytes]:
        """What makes the CLI believe that its library for plugins is installed."""
        return _HOME

    def instructions(self, given: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """None: the configuration names the copies in the place of the repository's."""
        return {}

    def prompt(self, text: str) -> bytes:
        """``text`` as UTF-8: on standard input nothing in it is a command or a file name."""
        return clean(text).encode()

    def reader(self) -> Reader:
        """A fresh reader for one run."""
        return OpenCodeReader()


def _configuration(run: Run) -> dict[str, Any]:
    return {
        "autoupdate": False,
        "share": "disabled",
        # Nobody is there to be asked. The two fetch pages, which the sandbox refuses, or have the provider fetch them,
        # which no proxy here could judge.
        "permission": {"*": "allow", "webfetch": "deny", "websearch": "deny"},
        # Programs that the repository brings along (node_modules/.bin) must not be started by a mere edit.
        "lsp": False,
        "formatter": False,
        # For undoing at a terminal. It copies the repository's objects into HOME, which is small.
        "snapshot": False,
        "instructions": [f"{GIVEN if run.instructions else '/ws/repo'}/{name}" for name in ("AGENTS.md", "CLAUDE.md")],
        "provider": {_PROVIDERS[run.api]: _provider(run)},
    }


def _provider(run: Run) -> dict[str, Any]:
    """The one provider, with its model declared: one that the CLI's list lacks ends it with "server error" else."""
    wait = run.settings.api_timeout_seconds * 1000
    options = {
        "baseURL": f"{MODEL_URL}/v1",
        "apiKey": "placeholder",
        "headerTimeout": wait,
        "chunkTimeout": wait,
    }
    if run.api != "openai-chat":
        return {"options": options, "models": {run.model: {}}}
    sdk = {"npm": "@ai-sdk/openai-compatible", "name": "Gateway"}
    return {**sdk, "options": options, "models": {run.model: {"limit": _LIMIT}}}
