"""Claude Code 2.1.332 in the sandbox: its command line, its environment and its prompt.

Only the command, the environment and the reader know this CLI; what it may reach is the egress's business. The
repository's own settings, hooks, MCP servers and key helpers are kept out by ``--setting-sources user`` together with
``--strict-mcp-config``; its instructions come in through the CLAUDE.md that images/base/entry writes into HOME.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox.agents.agent import GIVEN, MODEL_PORT, Reader, Run
from sandbox.agents.claude_reader import ClaudeReader
from sandbox.agents.shaped import clean
from sandbox.settings import Api

MODEL_URL = f"http://127.0.0.1:{MODEL_PORT}"

# Everything for work on files and no more: what waits for a clock, opens a work tree elsewhere, or has the provider
# fetch pages on the agent's behalf (a way out that no proxy here can judge) is not offered to the model.
TOOLS = "Bash,Edit,Glob,Grep,NotebookEdit,Read,Skill,Task,TaskCreate,TaskGet,TaskList,TaskStop,TaskUpdate,Write"

# Gateways name models with all of these (``anthropic/claude-sonnet-4-5@20250929``, Bedrock ARNs).
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,199}")

_FIXED = {
    "TMPDIR": "/tmp",  # noqa: S108  (a tmpfs of the sandbox's own)
    "ANTHROPIC_BASE_URL": MODEL_URL,
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    # With background tasks the CLI prints a final event, waits for them (for ever, where one is a server), and then
    # works on and prints another. Without, a final event is final.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
}


class Claude:
    """``sandbox.agents.agent.Agent`` for Claude Code."""

    name = "claude"
    image = "claude"
    apis: tuple[Api, ...] = ("anthropic-messages",)
    default_model = "claude-sonnet-4-5"

    def command(self, run: Run) -> list[str]:
        """The argv; the prompt comes on standard input, so nothing of it is here."""
        if not _MODEL.fullmatch(run.model):
            raise ValueError(f"{run.model!r} is not the name of a model")
        return [
            "/usr/local/bin/claude",
            "--print",
            "--output-format=stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
            "--no-session-persistence",
            "--strict-mcp-config",
            "--setting-sources=user",
            f"--tools={TOOLS}",
            f"--model={run.model}",
        ]

    def environment(self, run: Run) -> dict[str, str]:
        """All that is set beside PATH, HOME and LANG; no secret is among it: the egress sets the real one."""
        return {
            **_FIXED,
            "CLAUDE_CODE_OAUTH_TOKEN" if run.oauth else "ANTHROPIC_API_KEY": "placeholder",
            **({"GOFER_INSTRUCTIONS": "given"} if run.instructions else {}),
            "CLAUDE_CODE_MAX_RETRIES": str(run.settings.max_retries),
            "API_TIMEOUT_MS": str(run.settings.api_timeout_seconds * 1000),
        }

    def home(self, run: Run) -> Mapping[str, bytes]:
        """None: the repository's instructions come in through what the entry writes."""
        return {}

    def instructions(self, given: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Imports of the copies, by the rule of the entry for the repository's own, which then writes nothing."""
        found = [name for name in ("CLAUDE.md", ".claude/CLAUDE.md") if name in given]
        found = found or [name for name in ("AGENTS.md",) if name in given]
        return {".claude/CLAUDE.md": "".join(f"@{GIVEN}/{name}\n" for name in found).encode()} if found else {}

    def prompt(self, text: str) -> bytes:
        """``text`` as UTF-8, kept from being taken for a command of the CLI.

        A text that begins with ``/help`` and the like is answered by the CLI itself and never reaches the model; a
        newline before it is the cure, and the model reads the rest exactly.
        """
        cleaned = clean(text)
        return f"\n{cleaned}".encode() if cleaned.startswith("/") else cleaned.encode()

    def reader(self) -> Reader:
        """A fresh reader for one run."""
        return ClaudeReader()
