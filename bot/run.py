"""``gofer run``: one task in the same sandbox, without GitHub.

Progress goes to stderr, the diff to stdout. Exit status: 0 changed, 3 no change, 1 failed, 130 interrupted.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import sys
from pathlib import Path
from typing import Final

from bot.bundle import NotARepository, bundle_head, uncommitted
from bot.config import ConfigError, for_run
from bot.interrupts import Interrupts, interrupts
from bot.run_left import Run, alive, left
from bot.run_words import Say, printable, stderr_teller, summary, working
from bot.verdict_words import counted
from sandbox import (
    MAX_PROMPT_BYTES,
    AgentName,
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


def source_of(repo: str, ref: str | None) -> Source:
    """The repository named on the command line: an https URL is fetched, a path is bundled at HEAD.

    Raises ``bot.bundle.NotARepository`` with what to do for anything else.
    """
    repo = repo.removeprefix("file://")
    if re.match(r"(ssh|git)://|[\w.-]+@[\w.-]+:", repo):
        raise NotARepository("Give the repository's https URL, such as https://github.com/OWNER/REPO, or a path.")
    if "://" not in repo:
        if ref is not None:
            raise NotARepository("--ref is for a URL; of a path, the commit that is checked out is taken.")
        path = Path(repo).resolve()
        return Source(url=f"file://{path}", bundle=bundle_head(path))
    if "@" in repo.split("/")[2]:
        raise NotARepository("Leave user name and password out of the URL: nothing secret goes into a sandbox.")
    return Source(url=repo, ref=ref)


def exit_status(outcome: Outcome) -> int:
    """0 changed, 3 no change, 1 failed. A failed task is failed even where it left changes (they are printed)."""
    if outcome.state is not State.SUCCEEDED or outcome.changes is None or outcome.changes.patch is None:
        return FAILED
    return CHANGED if outcome.changes.patch else NO_CHANGE


async def run(
    sandbox: Sandbox,
    settings: Settings,
    *,
    prompt: str,
    source: Source,
    model: str | None,
    say: Say,
    agent: AgentName | None = None,
) -> Outcome:
    """One task from nothing to its outcome. The sandbox is removed whatever happens, an interrupt included.

    Raises ``asyncio.CancelledError`` where a signal came while the agent did not run.
    """
    name = f"run-{secrets.token_hex(6)}"
    chosen = {} if agent is None else {"agent": agent}
    job = Job(**chosen, name=name, model=model, prompt=prompt, source=source, limits=settings.limits)
    handle, task = Handle(name=name), asyncio.current_task()
    if task is None:
        raise RuntimeError("run must be awaited in a task: an interrupt cancels it")
    with interrupts(task.cancel) as signals, alive(runs(settings), name) as living:
        try:
            say("preparing the workspace and fetching the repository")
            await sandbox.prepare(job, Secrets())
            await sandbox.start(handle)
            say("the agent works")
            await _watch(sandbox, handle, say, signals)
            return await sandbox.outcome(handle)
        finally:
            await _remove(sandbox, handle, living, say)


def runs(settings: Settings) -> Path:
    """Where living runs hold their locks; another instance's sandboxes could not be found from here."""
    return settings.state_dir / "runs" / settings.instance


async def tidy(sandbox: Sandbox, settings: Settings, say: Say) -> None:
    """Remove what runs that were killed have left: agents of theirs may still work, and cost."""
    for name in left(runs(settings)):
        say(f"removing the sandbox {name} of a run that was killed")
        with alive(runs(settings), name) as living:
            await _remove(sandbox, Handle(name=name), living, say)


async def _remove(sandbox: Sandbox, handle: Handle, living: Run, say: Say) -> None:
    """What cannot be removed now must not hide why the task failed; the next run tries again."""
    try:
        await sandbox.remove(handle)
        living.tidied()
    except Unreachable as error:
        say(f"warning: not everything of the sandbox {handle.name} could be removed: {printable(str(error))}")


async def _watch(sandbox: Sandbox, handle: Handle, say: Say, signals: Interrupts) -> None:
    """Until the agent has ended; the sandbox enforces the deadline. An interrupt cancels the task."""
    cancelled = asyncio.Event()
    stop = spawn(_cancel_when(cancelled, sandbox, handle, say), name="cancel on interrupt")
    try:
        said = ""
        with signals.doing(cancelled.set):
            while (status := await sandbox.wait(handle, LOOK_SECONDS)).phase is Phase.RUNNING:
                if (line := working(status)) != said:
                    say(said := line)
    finally:
        stop.cancel()


async def _cancel_when(cancelled: asyncio.Event, sandbox: Sandbox, handle: Handle, say: Say) -> None:
    await cancelled.wait()
    say("interrupted: stopping the agent and collecting what it did")
    await sandbox.cancel(handle, Reason.CANCELLED)


async def main(
    sandbox: Sandbox,
    settings: Settings,
    *,
    repo: str,
    ref: str | None,
    prompt: str,
    model: str | None,
    agent: AgentName | None = None,
) -> int:
    """The whole command after its settings are read. Returns the exit status."""
    say = stderr_teller()
    source = source_of(repo, ref)
    if source.bundle is not None and (left_out := uncommitted(Path(repo))):
        say(f"warning: the agent starts from HEAD and does not see {counted(len(left_out), 'uncommitted path')}")
    await tidy(sandbox, settings, say)
    try:
        outcome = await run(sandbox, settings, prompt=prompt, source=source, model=model, say=say, agent=agent)
    except PrepareFailed as failed:
        say(f"could not start: {printable(str(failed))}")
        return FAILED
    except asyncio.CancelledError:
        say("interrupted")
        return INTERRUPTED
    patch = outcome.changes.patch if outcome.changes is not None else None
    printed = not patch or _print_patch(patch, settings.state_dir / "last.patch", say)
    for line in summary(outcome).splitlines():
        say(line)
    if outcome.reason is Reason.CANCELLED:
        return INTERRUPTED
    return exit_status(outcome) if printed else FAILED


def _print_patch(patch: bytes, rescue: Path, say: Say) -> bool:
    """To stdout, or to ``rescue`` where that cannot be written (a full disk, a pipe that has ended): it was paid for.

    Through a descriptor of our own, so that the interpreter does not try again at its end.
    """
    try:
        with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
            out.write(patch)
    except OSError as error:
        rescue.write_bytes(patch)
        say(f"the diff could not be written to the standard output ({error.strerror}); it is in {rescue}")
        return False
    return True


def with_choice(settings: Settings, agent: AgentName | None, model: str | None) -> Settings:
    """Whoever types the command is the operator: the model that he names is offered. Raises ``ConfigError`` for an
    agent that has no settings."""
    name = agent or settings.default_agent
    known = settings.for_agent(name)
    if known is None:
        raise ConfigError(f"--agent {name}: it is not in GOFER_AGENTS")
    if model is None or model in {known.model, *known.models}:
        return settings
    offered = known.model_copy(update={"models": (*known.models, model)})
    return settings.model_copy(update={"agents": {**settings.agents, name: offered}})


def command(*, repo: str, ref: str | None, prompt: str, model: str | None, agent: AgentName | None = None) -> int:
    """``gofer run`` from the environment's settings. Raises ``ConfigError`` and ``NotARepository`` for mistakes."""
    config = for_run()
    agent = agent or config.task_agent
    settings = config.sandbox_settings()
    if not config.is_remote:
        settings = with_choice(settings, agent, model)
    _check(prompt)
    try:
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        words = f"GOFER_STATE_DIR: {settings.state_dir} cannot be made ({error.strerror}); name a folder of yours"
        raise ConfigError(words) from None

    async def whole() -> int:
        try:
            sandbox = await open_sandbox(config.sandbox, settings)
        except ValueError as error:
            raise ConfigError(f"GOFER_SANDBOX: {error}") from None
        try:
            return await main(sandbox, settings, repo=repo, ref=ref, prompt=prompt, model=model, agent=agent)
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
    try:
        length = len(prompt.encode())
    except UnicodeEncodeError:  # bytes that were no UTF-8 arrive as lone surrogates
        raise ConfigError("the prompt is not UTF-8 text") from None
    if length > MAX_PROMPT_BYTES:
        raise ConfigError(f"the prompt is longer than {MAX_PROMPT_BYTES:,} bytes")
