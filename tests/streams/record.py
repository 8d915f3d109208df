"""Record what a real agent CLI prints for every scenario of the scripted model.

    python tests/streams/record.py AGENT /path/to/its/binary [--api=API] [SCENARIO ...]

Run it with the version that images/AGENT pins, after that has changed, and look at the difference: the tests of
sandbox/agents read these files. Needs no network but loopback; the scenario ``refused`` asks where nobody listens.
Paths and ports of this machine are replaced by those of a sandbox. With ``--api`` the agent speaks another API than the
one it prefers, and the files are AGENT-API-SCENARIO.jsonl.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from bot.demo import scenarios
from bot.demo.model import ScriptedModel
from sandbox.agents import AGENTS, Agent, Run
from sandbox.agents.agent import MODEL_PORT
from sandbox.background import spawn
from sandbox.settings import AgentSettings, Api

HERE = Path(__file__).parent
INSIDE = f"http://127.0.0.1:{MODEL_PORT}"
RUN_SECONDS = 60
# Five retries that cannot be set take it 62 s, and as many time-outs.
LONGER_SECONDS = {"opencode": 180}
ENDLESS_SECONDS = 8
SETTINGS = AgentSettings(max_retries=1, api_timeout_seconds=3)
PROMPT = "Write some notes."
# Where the CLIs' own programs are, for those that are scripts.
PATH = os.environ.get("PATH", os.defpath)


@dataclass(frozen=True)
class Special:
    """A recording that needs more than the name of a scenario."""

    scenario: str
    arguments: list[str] = field(default_factory=list)
    """For the CLI, before its last ones."""
    fail_times: int | None = None
    retry_after: str = ""
    prompt: bytes = b""
    """As it is, past ``Agent.prompt``."""


SPECIAL: dict[str, Special] = {
    "shell": Special(scenarios.shell("echo one > ONE.md", "printf 'a\\0b' | tr 'a' '\\200'")),
    "500-once": Special("500", fail_times=1),
    "429-ra": Special("429", retry_after="1"),
    "refused": Special("ok"),
}
# Of one CLI only.
OWN: dict[str, dict[str, Special]] = {
    "claude": {
        "maxturns": Special("loop", ["--max-turns=3"]),
        "maxbudget": Special("loop", ["--max-budget-usd=0.005"]),
        "slash": Special("ok", prompt=b"/help"),
    },
    "codex": {
        "codemode": Special("ok", ["--model=gpt-5.6-sol"]),
        "unknownmodel": Special("ok", ["--model=no-such-model"]),
    },
}
SAYINGS = ("ok", "noop", "decline", "empty", "maxtokens", "refusal", "badtool")
PLAIN = (*SAYINGS, *scenarios.BREAKS, *scenarios.FAILURES)
# They never end by themselves, and are ended with SIGTERM: what they have printed until then is recorded.
ENDLESS = {"claude": {"stall"}, "codex": {"hang"}, "opencode": {"cut"}}


@dataclass(frozen=True)
class Recorder:
    """One CLI, over one API."""

    agent: Agent
    binary: str
    api: Api
    prefix: str

    async def record(self, name: str) -> None:
        """Run one scenario and write its stream."""
        special = {**SPECIAL, **OWN.get(self.agent.name, {})}.get(name, Special(name))
        model = ScriptedModel(special.scenario, retry_after=special.retry_after)
        model.fail_times = special.fail_times
        await model.start()
        if name == "refused":
            await model.stop()
        started = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                code, out, err = await self._run(Path(folder), model, name, special)
        finally:
            await model.stop()
        (HERE / f"{self.prefix}-{name}.jsonl").write_bytes(_scrub(out, folder, model.port))
        seconds = time.monotonic() - started
        print(f"{name:12} exit {code:4} {seconds:5.1f} s, asked {len(model.questions)} times, stderr {err[-200:]!r}")

    async def _run(self, folder: Path, model: ScriptedModel, name: str, special: Special) -> tuple[int, bytes, bytes]:
        run = Run(self.agent.default_model, self.api, settings=SETTINGS)
        self._make(folder, run, model.url)
        process = await asyncio.create_subprocess_exec(
            *self._command(run, model.url, special.arguments),
            cwd=folder / "repo",
            env=self._environment(folder, run, model.url),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        endless = name in ENDLESS.get(self.agent.name, set())
        work = spawn(process.communicate(special.prompt or self.agent.prompt(PROMPT)), name=self.agent.name)
        longest = LONGER_SECONDS.get(self.agent.name, RUN_SECONDS)
        await asyncio.wait([work], timeout=ENDLESS_SECONDS if endless else longest)
        if not work.done():
            process.terminate()
        out, err = await work
        return process.returncode or 0, out, err

    def _make(self, folder: Path, run: Run, url: str) -> None:
        for part in ("repo", "home", "tmp"):
            (folder / part).mkdir()
        (folder / "repo" / "README.md").write_text("# Here\n")
        for path, data in self.agent.home(run).items():
            file = folder / "home" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data.replace(INSIDE.encode(), url.encode()))

    def _command(self, run: Run, url: str, more: list[str]) -> list[str]:
        """As in a sandbox; of an option that is there twice, the CLIs take the last, or refuse it."""
        own = [part.replace(INSIDE, url) for part in self.agent.command(run)[1:]]
        options = {part.partition("=")[0] for part in more}
        kept = [part for part in own if part.partition("=")[0] not in options]
        at = len(kept) - (kept[-1] == "-")
        return [self.binary, *kept[:at], *more, *kept[at:]]

    def _environment(self, folder: Path, run: Run, url: str) -> Mapping[str, str]:
        inside = {key: value.replace(INSIDE, url) for key, value in self.agent.environment(run).items()}
        # IS_SANDBOX lets Claude Code run as root, which no sandbox of ours does.
        given = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "PATH": PATH, "LANG": "C.UTF-8"}
        return {**inside, **given, "IS_SANDBOX": "1"}


def _scrub(out: bytes, folder: str, port: int) -> bytes:
    flat = folder.replace("/", "-").replace("_", "-").encode()  # how Claude Code names a project's folder
    parts = {f"{folder}/repo": b"/ws/repo", f"{folder}/home": b"/home/agent", f"{folder}/tmp": b"/tmp", folder: b"/tmp"}
    for old, new in parts.items():
        out = out.replace(old.encode(), new)
    out = out.replace(flat + b"-repo", b"-ws-repo").replace(f"127.0.0.1:{port}".encode(), b"127.0.0.1:9001")
    return re.sub(rb"/cc-socks/\d+\.sock", b"/cc-socks/1.sock", out)


async def _main(arguments: list[str]) -> None:
    name, binary, *rest = arguments
    agent = AGENTS[name]
    chosen = next((part.removeprefix("--api=") for part in rest if part.startswith("--api=")), agent.apis[0])
    (api,) = (known for known in get_args(Api) if known == chosen)
    prefix = name if api == agent.apis[0] else f"{name}-{api}"
    recorder = Recorder(agent, shutil.which(binary) or binary, api, prefix)
    scenes = [part for part in rest if not part.startswith("--")]
    for scene in scenes or [*PLAIN, *SPECIAL, *OWN.get(name, {})]:
        await recorder.record(scene)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1:]))
