"""Record what the real Claude Code prints for every scenario of the scripted model.

    python tests/streams/record.py /path/to/claude [SCENARIO ...]

Run it with the version that images/claude pins, after that has changed, and look at the difference: the tests of
sandbox/agents read these files. Needs no network but loopback. Paths and ports of this machine are replaced by those
of a sandbox.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bot.demo import scenarios
from bot.demo.model import ScriptedModel
from bot.demo.say import STATUSES
from sandbox.agents import Run
from sandbox.agents.claude import MODEL_URL, PROXY_URL, Claude
from sandbox.background import spawn
from sandbox.settings import AgentSettings

HERE = Path(__file__).parent
RUN_SECONDS = 60
SETTINGS = AgentSettings(max_retries=1, api_timeout_seconds=3)
# Scenarios that need more than their name: what to ask the model for, and arguments for the CLI.
SPECIAL: dict[str, tuple[str, list[str]]] = {
    "shell": (scenarios.shell("echo one > ONE.md", "printf 'a\\0b' | tr 'a' '\\200'"), []),
    "maxturns": ("loop", ["--max-turns=3"]),
    "maxbudget": ("loop", ["--max-budget-usd=0.005"]),
    "500-once": ("500", []),
    "slash": ("ok", []),
}
PLAIN = ["ok", "noop", "decline", "empty", "maxtokens", "refusal", "badtool", *scenarios.BREAKS, *map(str, STATUSES)]
# It never ends by itself: the reader has its API_TIMEOUT_MS for answers that never start only.
ENDLESS = {"stall"}


async def record(binary: str, name: str) -> None:
    """Run one scenario and write its stream."""
    scenario, more = SPECIAL.get(name, (name, []))
    model = ScriptedModel(scenario)
    model.fail_times = 1 if name == "500-once" else None
    await model.start()
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = await _run(binary, Path(folder), model, name, more)
    finally:
        await model.stop()
    (HERE / f"claude-{name}.jsonl").write_bytes(_scrub(out, folder, model.port))
    seconds = time.monotonic() - started
    print(f"{name:12} exit {code:4} {seconds:5.1f} s, asked {len(model.questions)} times, stderr {err[-200:]!r}")


async def _run(binary: str, folder: Path, model: ScriptedModel, name: str, more: list[str]) -> tuple[int, bytes, bytes]:
    for part in ("repo", "home"):
        (folder / part).mkdir()
    prompt = Claude().prompt("Write some notes.") if name != "slash" else b"/help"
    process = await asyncio.create_subprocess_exec(
        binary,
        *Claude().command(Run("claude-sonnet-4-5"))[1:],
        *more,
        cwd=folder / "repo",
        env=_environment(folder, model),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    seconds = 5 if name in ENDLESS else RUN_SECONDS
    work = spawn(process.communicate(prompt), name="claude")
    await asyncio.wait([work], timeout=seconds)
    if not work.done():
        process.terminate()
    out, err = await work
    return process.returncode or 0, out, err


def _environment(folder: Path, model: ScriptedModel) -> Mapping[str, str]:
    inside = Claude().environment(Run("m", settings=SETTINGS))
    fixed = {key: value.replace(MODEL_URL, model.url) for key, value in inside.items() if value != PROXY_URL}
    # IS_SANDBOX lets it run as root, which no sandbox of ours does.
    given = {"HOME": str(folder / "home"), "TMPDIR": str(folder), "PATH": os.defpath, "LANG": "C.UTF-8"}
    return {**fixed, **given, "IS_SANDBOX": "1"}


def _scrub(out: bytes, folder: str, port: int) -> bytes:
    flat = folder.replace("/", "-").replace("_", "-").encode()  # how the CLI names a project's folder
    for old, new in ((f"{folder}/repo", b"/ws/repo"), (f"{folder}/home", b"/home/agent"), (folder, b"/tmp")):
        out = out.replace(old.encode(), new)
    out = out.replace(flat + b"-repo", b"-ws-repo").replace(f"127.0.0.1:{port}".encode(), b"127.0.0.1:9001")
    return re.sub(rb"/cc-socks/\d+\.sock", b"/cc-socks/1.sock", out)


async def _main(binary: str, names: list[str]) -> None:
    for name in names or [*PLAIN, *SPECIAL]:
        await record(binary, name)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], sys.argv[2:]))
