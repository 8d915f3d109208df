"""``gofer run``: one task in the same sandbox, without GitHub.

Progress goes to stderr, the diff to stdout. Exit status: 0 changed, 3 no change, 1 failed, 130 interrupted.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bot.bundle import bundle_head, uncommitted
from bot.config import ConfigError, SandboxConfig, read
from sandbox import (
    MAX_PROMPT_BYTES,
    Handle,
    Job,
    Outcome,
    Phase,
    PrepareFailed,
    Reason,
    Sandbox,
    Secrets,
    Settings,
    Source,
    State,
    Status,
    Unreachable,
    open_sandbox,
    spawn,
)

CHANGED: Final = 0
FAILED: Final = 1
NO_CHANGE: Final = 3
INTERRUPTED: Final = 130

# How often a line says that work goes on: often enough to reassure, rarely enough to read.
LOOK_SECONDS: Final = 2.0

Say = Callable[[str], None]


def source_of(repo: str, ref: str | None) -> Source:
    """The repository named on the command line: an https URL is fetched, a path is bundled at HEAD.

    Raises ``bot.bundle.NotARepository`` for a path that is none, ``ValueError`` for a URL with a password in it.
    """
    if "://" not in repo:
        path = Path(repo).resolve()
        return Source(url=f"file://{path}", bundle=bundle_head(path))
    if "@" in repo.split("/")[2]:
        raise ValueError("Leave user name and password out of the URL: nothing secret goes into a sandbox.")
    return Source(url=repo, ref=ref)


def exit_status(outcome: Outcome) -> int:
    """0 changed, 3 no change, 1 failed. A failed task is failed even where it left changes (they are printed)."""
    if outcome.state is not State.SUCCEEDED or outcome.changes is None or outcome.changes.patch is None:
        return FAILED
    return CHANGED if outcome.changes.patch else NO_CHANGE


def summary(outcome: Outcome) -> str:
    """The last lines on stderr. The agent's words are shown with control characters escaped: this is a terminal."""
    usage, changes = outcome.usage, outcome.changes
    parts = [f"{outcome.state.value} after {outcome.duration_seconds:.1f} s"]
    if changes is not None:
        parts.append(f"{len(changes.files)} files changed")
    if usage.turns is not None:
        parts.append(f"{usage.turns} turns")
    if usage.cost_usd is not None:
        parts.append(f"${usage.cost_usd:.4f}")
    lines = [", ".join(parts)]
    lines += [f"reason: {printable(outcome.error)}"] if outcome.error else []
    lines += [f"agent: {printable(outcome.reply)}"] if outcome.reply else []
    lines += [f"not taken: {changes.ignored_count} ignored new files"] if changes and changes.ignored_count else []
    lines += [f"refused: {changes.refusal}"] if changes and changes.refusal else []
    lines += [f"blocked: {printable(b.host)} ({b.count} times)" for b in outcome.blocked]
    lines += [f"note: {printable(note)}" for note in (*outcome.notes, *(changes.notes if changes else ()))]
    return "\n".join(lines)


def printable(text: str) -> str:
    """``text`` without anything that a terminal would obey: controls and invisible characters are spelled out."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)


async def run(
    sandbox: Sandbox, settings: Settings, *, prompt: str, source: Source, model: str | None, say: Say
) -> Outcome:
    """One task from nothing to its outcome. The sandbox is removed whatever happens, an interrupt included."""
    name = f"run-{secrets.token_hex(6)}"
    job = Job(name=name, model=model, prompt=prompt, source=source, limits=settings.limits)
    handle = Handle(name=name)
    try:
        say("preparing the workspace and fetching the repository")
        await sandbox.prepare(job, Secrets())
        await sandbox.start(handle)
        say("the agent works")
        await _watch(sandbox, handle, say)
        return await sandbox.outcome(handle)
    finally:
        await _remove(sandbox, handle, say)


async def _remove(sandbox: Sandbox, handle: Handle, say: Say) -> None:
    """What cannot be removed now must not hide why the task failed; the next run's sandbox does not depend on it."""
    try:
        await sandbox.remove(handle)
    except Unreachable as error:
        say(f"warning: not everything of the sandbox {handle.name} could be removed: {printable(str(error))}")


async def _watch(sandbox: Sandbox, handle: Handle, say: Say) -> None:
    """Until the agent has ended; the sandbox enforces the deadline. An interrupt cancels the task."""
    loop, cancelled = asyncio.get_running_loop(), asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, cancelled.set)
    stop = spawn(_cancel_when(cancelled, sandbox, handle, say), name="cancel on interrupt")
    try:
        said = ""
        while (status := await sandbox.wait(handle, LOOK_SECONDS)).phase is Phase.RUNNING:
            if (line := working(status)) != said:
                say(said := line)
    finally:
        stop.cancel()
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(signum)


async def _cancel_when(cancelled: asyncio.Event, sandbox: Sandbox, handle: Handle, say: Say) -> None:
    await cancelled.wait()
    say("interrupted: stopping the agent and collecting what it did")
    await sandbox.cancel(handle, Reason.CANCELLED)


def working(status: Status) -> str:
    """One progress line; changes only when there is something new to say."""
    progress = status.progress
    doing = " ".join(part for part in (progress.last_tool, progress.last_file) if part)
    return f"working: {printable(doing)[:200]}" if doing else f"working, {status.elapsed_seconds:.0f} s"


def stderr_teller() -> Say:
    """Says each line on stderr with the seconds since the start."""
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - began:6.1f} s] {line}", file=sys.stderr, flush=True)

    return say


async def main(
    sandbox: Sandbox, settings: Settings, *, repo: str, ref: str | None, prompt: str, model: str | None
) -> int:
    """The whole command after its settings are read. Returns the exit status."""
    say = stderr_teller()
    source = source_of(repo, ref)
    if source.bundle is not None and (left_out := uncommitted(Path(repo))):
        say(f"warning: {len(left_out)} uncommitted paths are not seen by the agent: it starts from HEAD")
    try:
        outcome = await run(sandbox, settings, prompt=prompt, source=source, model=model, say=say)
    except PrepareFailed as failed:
        say(f"could not start: {printable(str(failed))}")
        return FAILED
    if outcome.changes is not None and outcome.changes.patch:
        sys.stdout.buffer.write(outcome.changes.patch)
        sys.stdout.buffer.flush()
    for line in summary(outcome).splitlines():
        say(line)
    return INTERRUPTED if outcome.reason is Reason.CANCELLED else exit_status(outcome)


def command(*, repo: str, ref: str | None, prompt: str, model: str | None) -> int:
    """``gofer run`` from the environment's settings. Raises ``ConfigError`` and ``NotARepository`` for mistakes."""
    config = read(SandboxConfig)
    settings = config.sandbox_settings()
    _check(prompt)
    try:
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        words = f"GOFER_STATE_DIR: {settings.state_dir} cannot be made ({error.strerror}); name a folder of yours"
        raise ConfigError(words) from None

    async def whole() -> int:
        sandbox = await open_sandbox(config.sandbox, settings)
        try:
            return await main(sandbox, settings, repo=repo, ref=ref, prompt=prompt, model=model)
        finally:
            await sandbox.close()

    try:
        return asyncio.run(whole())
    except (Unreachable, RuntimeError) as error:
        print(f"gofer run: {printable(str(error))}", file=sys.stderr)
        return FAILED


def _check(prompt: str) -> None:
    """Raises ``ConfigError`` for a prompt that no task could carry."""
    if not prompt.strip():
        raise ConfigError("the prompt is empty: say what is to be done")
    if len(prompt.encode()) > MAX_PROMPT_BYTES:
        raise ConfigError(f"the prompt is longer than {MAX_PROMPT_BYTES:,} bytes")
