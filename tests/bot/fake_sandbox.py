"""A sandbox that does what a test says: the face of ``sandbox.Sandbox`` over plain state, no engine.

It outlives the runner, as containers do. ``calls`` has every call in order; ``trouble`` maps a call's name to an error
that it raises until it is taken out; ``hang`` names calls that never answer (until it is emptied).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from sandbox import (
    Changes,
    Handle,
    Job,
    Outcome,
    Phase,
    PrepareFailed,
    Progress,
    Reason,
    Secrets,
    State,
    Status,
)

PATCH = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"
CHANGED = Outcome(
    state=State.SUCCEEDED,
    reason=Reason.OK,
    reply="I did it.",
    exit_code=0,
    changes=Changes(base_commit="a" * 40, patch=PATCH),
    duration_seconds=1.0,
)
GONE = Outcome(state=State.LOST, reason=Reason.LOST, error="The container is gone.")


@dataclass
class Box:
    """One sandbox."""

    job: Job
    phase: Phase = Phase.READY
    outcome: Outcome | None = None
    cancelled: Reason | None = None
    elapsed: float = 1.0
    progress: Progress = field(default_factory=Progress)


@dataclass
class FakeSandbox:
    """``automatic``: every agent ends at once with this outcome; None: when the test calls ``end``."""

    automatic: Outcome | None = CHANGED
    boxes: dict[str, Box] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    trouble: dict[str, Exception] = field(default_factory=dict)
    hang: set[str] = field(default_factory=set)
    tokens: list[str] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    does: Callable[[Job], Outcome] | None = None
    """What an agent that ends at once does with its job, in place of ``automatic``."""
    unfit: PrepareFailed | None = None
    """Raised for whatever has an earlier result to be laid into its checkout."""
    gone: set[str] = field(default_factory=set)
    """URLs that nothing can be fetched from."""
    running_at_most: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self, name: str, outcome: Outcome = CHANGED) -> None:
        """The agent of this sandbox ends by itself."""
        box = self.boxes[name]
        box.phase, box.outcome = Phase.EXITED, outcome
        self.changed.set()

    def counts(self) -> Counter[str]:
        return Counter(call for call, _ in self.calls)

    async def _called(self, call: str, name: str) -> None:
        self.calls.append((call, name))
        self.changed.set()
        while call in self.hang:
            self.changed.clear()
            await self.changed.wait()
        if call in self.trouble:
            raise self.trouble[call]

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        await self._called("prepare", job.name)
        if job.source is not None and job.source.url in self.gone:
            raise PrepareFailed(Reason.FETCH_FAILED, "The repository could not be fetched.")
        if self.unfit is not None and job.source is not None and job.source.patch is not None:
            raise self.unfit
        if secrets.fetch_token is not None:
            self.tokens.append(secrets.fetch_token.get_secret_value())
        self.boxes.setdefault(job.name, Box(job))
        self.jobs.append(job)
        return Handle(name=job.name)

    async def start(self, handle: Handle) -> None:
        await self._called("start", handle.name)
        box = self.boxes[handle.name]
        if box.phase is Phase.READY:
            box.phase = Phase.RUNNING
            running = sum(b.phase is Phase.RUNNING for b in self.boxes.values())
            self.running_at_most = max(self.running_at_most, running)
            if self.automatic is not None:
                self.end(handle.name, self.does(box.job) if self.does else self.automatic)

    async def status(self, handle: Handle) -> Status:
        await self._called("status", handle.name)
        return self._status(handle)

    async def wait(self, handle: Handle, seconds: float) -> Status:
        await self._called("wait", handle.name)
        while (status := self._status(handle)).phase is Phase.RUNNING:
            self.changed.clear()
            await self.changed.wait()
            if self._status(handle) != status:
                break
        return self._status(handle)

    async def outcome(self, handle: Handle) -> Outcome:
        await self._called("outcome", handle.name)
        box = self.boxes.get(handle.name)
        if box is None:
            return GONE
        if box.cancelled is not None:
            return CHANGED.model_copy(update={"state": State.FAILED, "reason": box.cancelled})
        return box.outcome or GONE

    async def cancel(self, handle: Handle, reason: Reason) -> None:
        await self._called("cancel", handle.name)
        self.boxes[handle.name].cancelled = reason
        self.end(handle.name)

    async def remove(self, handle: Handle) -> None:
        await self._called("remove", handle.name)
        self.boxes.pop(handle.name, None)
        self.changed.set()

    async def handles(self) -> tuple[Handle, ...]:
        await self._called("handles", "")
        return tuple(Handle(name=name) for name in self.boxes)

    async def close(self) -> None:
        await self._called("close", "")

    def _status(self, handle: Handle) -> Status:
        box = self.boxes.get(handle.name)
        if box is None:
            return Status(phase=Phase.ABSENT)
        return Status(phase=box.phase, elapsed_seconds=box.elapsed, progress=box.progress)
