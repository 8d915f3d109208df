"""OpenAI Codex 0.171.0 in the sandbox: its command line, its environment and its prompt.

All of its configuration is on the command line, which wins over every file; a repository's own (``.codex``: settings,
hooks, MCP servers, rules) is kept out because nobody has said that its project is trusted, while AGENTS.md, or else
CLAUDE.md, is read. (Where a project is said to be untrusted, those are not read either.)

Its providers of its own are not used: they look names up and try a WebSocket first. A request whose answer never begins
has no time limit in this version, whatever is set: there the task's own deadline ends the run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from sandbox.agents.agent import MODEL_PORT, Reader, Run
from sandbox.agents.codex_reader import CodexReader
from sandbox.agents.given import first
from sandbox.agents.shaped import clean
from sandbox.settings import Api

MODEL_URL = f"http://127.0.0.1:{MODEL_PORT}"

# Gateways name models with all of these (``openai/gpt-5.5``, ``@cf/openai/gpt-oss-120b``).
_MODEL = re.compile(r"[A-Za-z0-9@][A-Za-z0-9._:/@-]{0,199}")

# What would look for updates, plugins, apps or pictures elsewhere, work on beside the one task, take a repository's
# hooks, or compress a request so that nobody on its way could judge it.
_FEATURES_OFF = (
    "plugins",
    "remote_plugin",
    "plugin_sharing",
    "apps",
    "tool_suggest",
    "image_generation",
    "browser_use",
    "computer_use",
    "in_app_browser",
    "hooks",
    "skill_mcp_dependency_install",
    "goals",
    "multi_agent",
    "memories",
    "daemon_auto_start",
    "workspace_dependencies",
    "enable_request_compression",
    "unbounded_connection_retries",
)

# Where the repository's own are not to be read: which of the copies counts.
_NAMES = ("AGENTS.override.md", "AGENTS.md", "CLAUDE.md")
# And what keeps the repository's out: its documents, and its skills (.agents/skills, .codex/skills), whose descriptions
# are read whether its project is trusted or not.
_UNREAD = {"project_doc_max_bytes": 0, "skills.include_instructions": False}

_OPTIONS = {
    "model_provider": "gateway",
    "check_for_update_on_startup": False,
    "analytics.enabled": False,
    "feedback.enabled": False,
    "history.persistence": "none",
    # The image's PATH is the one to use; /etc/profile would put another in its place.
    "allow_login_shell": False,
    # The provider would fetch pages on the agent's behalf: a way out that no proxy here can judge.
    "web_search": "disabled",
    "project_doc_fallback_filenames": ["CLAUDE.md"],
    **{f"features.{name}": False for name in _FEATURES_OFF},
}


class Codex:
    """``sandbox.agents.agent.Agent`` for OpenAI Codex."""

    name = "codex"
    image = "codex"
    apis: tuple[Api, ...] = ("openai-responses",)
    default_model = "gpt-5.5"

    def command(self, run: Run) -> list[str]:
        """The argv; the prompt comes on standard input, so nothing of it is here."""
        if not _MODEL.fullmatch(run.model):
            raise ValueError(f"{run.model!r} is not the name of a model")
        return [
            "/usr/local/bin/codex",
            "exec",
            "--json",
            "--strict-config",
            "--ignore-user-config",
            "--ignore-rules",
            "--dangerously-bypass-approvals-and-sandbox",
            "--skip-git-repo-check",
            "--ephemeral",
            *_options(run),
            f"--model={run.model}",
            "-",
        ]

    def environment(self, run: Run) -> dict[str, str]:
        """All that is set beside PATH, HOME and LANG; no secret is among it: the egress sets the real one."""
        return {"TMPDIR": "/tmp", "OPENAI_API_KEY": "placeholder"}  # noqa: S108  (a tmpfs of the sandbox's own)

    def home(self, run: Run) -> Mapping[str, bytes]:
        """None: all configuration is on the command line. ``~/.codex`` is made by the CLI."""
        return {}

    def instructions(self, given: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """The first of the names that it looks for itself, as the user's own file."""
        return first(given, _NAMES, ".codex/AGENTS.md")

    def prompt(self, text: str) -> bytes:
        """``text`` as UTF-8: nothing in it is a command to this CLI."""
        return clean(text).encode()

    def reader(self) -> Reader:
        """A fresh reader for one run."""
        return CodexReader()


def _options(run: Run) -> Iterator[str]:
    # One attempt a request: its retries of requests and those of streams would multiply.
    provider = {
        "name": "gateway",
        "base_url": f"{MODEL_URL}/v1",
        "env_key": "OPENAI_API_KEY",
        "wire_api": "responses",
        "request_max_retries": 0,
        "stream_max_retries": run.settings.max_retries,
        "stream_idle_timeout_ms": run.settings.api_timeout_seconds * 1000,
    }
    unread = _UNREAD if run.instructions else {}
    settings = _OPTIONS | unread | {f"model_providers.gateway.{key}": value for key, value in provider.items()}
    for key, value in settings.items():
        # These values are written alike in JSON and in TOML.
        yield f"--config={key}={json.dumps(value)}"
