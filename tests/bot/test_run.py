"""``gofer run``: exit statuses, what is shown, and what happens on the way out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from bot.bundle import NotARepository
from bot.config import ConfigError
from bot.run import CHANGED, FAILED, INTERRUPTED, NO_CHANGE, exit_status, main, run, runs, source_of, with_choice
from bot.run_left import alive
from bot.run_words import printable, summary
from sandbox import (
    AgentSettings,
    Changes,
    Handle,
    Job,
    Outcome,
    Phase,
    PrepareFailed,
    Reason,
    Secrets,
    Settings,
    State,
    Status,
)

BASE = "0" * 40


def outcome(state: State = State.SUCCEEDED, patch: bytes | None = b"", **more: object) -> Outcome:
    return Outcome.model_validate(
        {"state": state, "reason": Reason.OK, "changes": Changes(base_commit=BASE, patch=patch), **more}
    )


@pytest.mark.parametrize(
    ("state", "patch", "expected"),
    [
        (State.SUCCEEDED, b"diff --git a/x b/x\n", CHANGED),
        (State.SUCCEEDED, b"", NO_CHANGE),
        (State.SUCCEEDED, None, FAILED),
        (State.FAILED, b"diff --git a/x b/x\n", FAILED),
        (State.LOST, b"", FAILED),
    ],
)
def test_exit_status(state: State, patch: bytes | None, expected: int) -> None:
    assert exit_status(outcome(state, patch)) == expected


def test_unknown_changes_are_never_no_change() -> None:
    assert exit_status(Outcome(state=State.SUCCEEDED, reason=Reason.OK)) == FAILED


def test_the_agent_cannot_drive_the_terminal() -> None:
    shown = summary(outcome(reply="\x1b]52;c;ZXZpbA==\x07hello\u202e"))
    assert "hello" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert printable("a\nb") == "a\nb"


@pytest.mark.parametrize(
    ("repo", "ref", "words"),
    [
        ("https://me:secret@example.org/o/r", None, "user name and password"),
        ("git@github.com:o/r.git", None, "https URL"),
        ("ssh://git@github.com/o/r.git", None, "https URL"),
        ("octo/hello", None, "https URL"),
        (".", "main", "--ref is for a URL"),
    ],
)
def test_what_is_no_repository_that_can_be_taken_is_refused_with_what_to_do(
    repo: str, ref: str | None, words: str
) -> None:
    with pytest.raises(NotARepository, match=words):
        source_of(repo, ref)


class Scripted:
    """A sandbox that plays one part; it records what it was asked."""

    def __init__(self, end: Outcome | None, *, slow: bool = False) -> None:
        self.end, self.asked, self.slow = end, list[str](), slow

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        self.asked.append("prepare")
        if self.slow:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        if self.end is None:
            raise PrepareFailed(Reason.FETCH_FAILED, "no such repository")
        return Handle(name=job.name)

    async def start(self, handle: Handle) -> None:
        self.asked.append("start")

    async def status(self, handle: Handle) -> Status:
        return Status(phase=Phase.EXITED)

    async def wait(self, handle: Handle, seconds: float) -> Status:
        self.asked.append("wait")
        return Status(phase=Phase.EXITED)

    async def outcome(self, handle: Handle) -> Outcome:
        assert self.end is not None
        return self.end

    async def cancel(self, handle: Handle, reason: Reason) -> None:
        self.asked.append("cancel")

    async def remove(self, handle: Handle) -> None:
        self.asked.append("remove")

    async def handles(self) -> tuple[Handle, ...]:
        return ()

    async def close(self) -> None:
        self.asked.append("close")


async def test_the_sandbox_is_removed_after_success(tmp_path: Path) -> None:
    world = Scripted(outcome())
    source = source_of("https://example.org/o/r", None)
    await run(world, Settings(state_dir=tmp_path), prompt="x", source=source, model=None, say=lambda line: None)
    assert world.asked == ["prepare", "start", "wait", "remove"]


async def test_the_sandbox_is_removed_when_the_fetch_failed(tmp_path: Path) -> None:
    world = Scripted(None)
    source = source_of("https://example.org/o/r", None)
    with pytest.raises(PrepareFailed):
        await run(world, Settings(state_dir=tmp_path), prompt="x", source=source, model=None, say=lambda line: None)
    assert world.asked == ["prepare", "remove"]


async def whole(world: Scripted, folder: Path) -> int:
    settings = Settings(state_dir=folder)
    return await main(world, settings, repo="https://example.org/o/r", ref=None, prompt="x", model=None)


async def test_the_sandbox_is_removed_when_a_polite_kill_comes_during_the_fetch(tmp_path: Path) -> None:
    world = Scripted(None, slow=True)
    assert await asyncio.wait_for(whole(world, tmp_path), 10) == INTERRUPTED
    assert world.asked == ["prepare", "remove"]


async def test_the_sandbox_of_a_run_that_was_killed_is_removed_by_the_next(tmp_path: Path) -> None:
    with alive(runs(Settings(state_dir=tmp_path)), "run-killed"):
        pass
    world = Scripted(outcome())
    for expected in (["remove", "prepare", "start", "wait", "remove"], ["prepare", "start", "wait", "remove"]):
        world.asked.clear()
        assert await whole(world, tmp_path) == NO_CHANGE
        assert world.asked == expected


@pytest.fixture
def full() -> Iterator[IO[str]]:
    """A file on a disk that is full."""
    with Path("/dev/full").open("w") as file:
        yield file


async def test_a_diff_that_stdout_does_not_take_is_kept(tmp_path: Path, full: IO[str]) -> None:
    world = Scripted(outcome(patch=b"diff\n"))
    with contextlib.redirect_stdout(full):
        assert await whole(world, tmp_path) == FAILED
    assert (tmp_path / "last.patch").read_bytes() == b"diff\n"


def test_whoever_types_the_command_may_name_any_model_and_only_an_agent_that_is_set_up() -> None:
    settings = Settings(state_dir=Path("/x"), agents={"claude": AgentSettings(model="m", models=("n",))})
    assert with_choice(settings, None, None) == settings
    assert with_choice(settings, "claude", "n") == settings
    named = with_choice(settings, "claude", "other").for_agent("claude")
    assert named is not None
    assert (named.model, named.models) == ("m", ("n", "other"))
    with pytest.raises(ConfigError, match="--agent pi: it is not in GOFER_AGENTS"):
        with_choice(settings, "pi", None)
