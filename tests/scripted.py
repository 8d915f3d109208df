"""A stand-in for an agent's CLI: a script in the real container, behind the real entry and the real way out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.agents import AGENTS, Agent, Reader, Run
from sandbox.settings import Api

FINAL = json.dumps(
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "All done.",
        "num_turns": 1,
        "session_id": "5e55",
        "total_cost_usd": 0.25,
        "usage": {"input_tokens": 3, "output_tokens": 4},
        "duration_ms": 1,
        "duration_api_ms": 1,
    }
)
_BODY = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]})

ASK = (
    "curl -sS -f -H 'content-type: application/json' -H 'anthropic-version: 2023-06-01' "
    f"-d '{_BODY}' http://127.0.0.1:9001/v1/messages >/dev/null"
)
"""Shell: one complete question to the model."""
SAY_DONE = f"echo '{FINAL}'"
"""Shell: the agent's final event."""
GOOD = f"cat > asked.txt; {ASK} || exit 9; echo new > 'new file.txt'; {SAY_DONE}"
"""Shell: a task as it should be."""


class Scripted:
    """Runs a shell script, or any argv, in place of the CLI; its output is read as Claude Code's."""

    name = "claude"
    image = "base"
    apis: tuple[Api, ...] = ("anthropic-messages",)
    default_model = "m"

    def __init__(self, script: str = "", *, argv: Sequence[str] = ()) -> None:
        self._argv = list(argv) or ["/bin/bash", "-c", script]

    def command(self, run: Run) -> list[str]:
        return self._argv

    def environment(self, run: Run) -> dict[str, str]:
        return {}

    def home(self, run: Run) -> Mapping[str, bytes]:
        return {}

    def instructions(self, given: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return {}

    def prompt(self, text: str) -> bytes:
        return text.encode()

    def reader(self) -> Reader:
        return AGENTS["claude"].reader()


def agents(script: str) -> dict[str, Agent]:
    """A registry whose only agent runs this script."""
    return {"claude": Scripted(script)}


def loop_files(instance: str) -> list[str]:
    """Files of this instance behind loop devices of this machine."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            file = backing.read_text()
        except OSError:  # detached between the two
            continue
        if f"gofer-{instance}-images" in file:
            found.append(file.strip())
    return found
