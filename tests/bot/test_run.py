"""``gofer run``: exit statuses, what is shown, and what happens on the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.run import CHANGED, FAILED, NO_CHANGE, exit_status, printable, run, source_of, summary
from sandbox import (
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


def test_a_password_in_the_url_is_refused() -> None:
    with pytest.raises(ValueError, match="user name and password"):
        source_of("https://me:secret@example.org/o/r", None)


class Scripted:
    """A sandbox that plays one part; it records what it was asked."""

    def __init__(self, end: Outcome | None) -> None:
        self.end, self.asked = end, list[str]()

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        self.asked.append("prepare")
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
