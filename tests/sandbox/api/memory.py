"""A runner without an engine: the face of ``sandbox.Workspaces`` over plain state, served on real sockets.

``end`` ends a task; until then it runs. ``trouble`` maps a call's name to what it raises.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from sandbox import (
    ApiSettings,
    Busy,
    Changes,
    Fetched,
    Handle,
    Job,
    Limits,
    NotThere,
    Outcome,
    Phase,
    Reason,
    Secrets,
    Settings,
    Snapshot,
    Source,
    State,
    Status,
)
from sandbox.api.serving import RunnerServer, serving

TOKEN = "k7Qw9zR2mX4vB8nC1pL6tY3hJ5dF0sGa"
OTHER_TOKEN = "Zp0Lk9Mj8Nh7Bg6Vf5Cd4Xs3Za2Qw1Er"
PATCH = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"
DONE = Outcome(
    state=State.SUCCEEDED,
    reason=Reason.OK,
    reply="I did it.",
    exit_code=0,
    changes=Changes(base_commit="a" * 40, patch=PATCH),
)


@dataclass
class Box:
    """One sandbox: a workspace, and its last task."""

    workspace: bool = False
    job: Job | None = None
    phase: Phase = Phase.ABSENT
    outcome: Outcome | None = None
    snapshot: Snapshot | None = None


@dataclass
class Memory:
    """``tokens``: what the fetches were given; ``calls``: every call's name, in order."""

    boxes: dict[str, Box] = field(default_factory=dict)
    trouble: dict[str, Exception] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    closed: bool = False
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    patch: bytes | None = PATCH
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def called(self, call: str, count: int = 1) -> None:
        """Until this call has come so many times."""
        async with asyncio.timeout(30):
            while self.calls.count(call) < count:
                self.heard.clear()
                await self.heard.wait()

    async def end(self, name: str, outcome: Outcome = DONE) -> None:
        box = self.boxes[name]
        box.phase, box.outcome = Phase.EXITED, outcome
        async with self.changed:
            self.changed.notify_all()

    def _called(self, call: str, handle: Handle) -> Box:
        self.calls.append(call)
        self.heard.set()
        if call in self.trouble:
            raise self.trouble[call]
        return self.boxes.get(handle.name) or Box()

    def _still(self, box: Box) -> Box:
        if box.phase is Phase.RUNNING:
            raise Busy("A task runs in this sandbox.")
        if not box.workspace:
            raise NotThere("There is no repository in this sandbox yet.")
        return box

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        self._called("prepare", Handle(name=job.name))
        if secrets.fetch_token is not None:
            self.tokens.append(secrets.fetch_token.get_secret_value())
        self.boxes.setdefault(job.name, Box(True, job, Phase.READY))
        return Handle(name=job.name)

    async def start(self, handle: Handle) -> None:
        box = self._called("start", handle)
        if box.phase is Phase.READY:
            box.phase = Phase.RUNNING

    async def status(self, handle: Handle) -> Status:
        return Status(phase=self._called("status", handle).phase)

    async def wait(self, handle: Handle, seconds: float) -> Status:
        box = self._called("wait", handle)
        if seconds and box.phase is Phase.RUNNING:
            try:
                async with asyncio.timeout(seconds), self.changed:
                    await self.changed.wait_for(lambda: box.phase is not Phase.RUNNING)
            except TimeoutError:
                pass
        return Status(phase=box.phase)

    async def outcome(self, handle: Handle) -> Outcome:
        return self._called("outcome", handle).outcome or Outcome(state=State.LOST, reason=Reason.LOST, error="gone")

    async def ended(self, handle: Handle) -> Outcome | None:
        box = self._called("ended", handle)
        return box.outcome if box.phase is Phase.EXITED else None

    async def cancel(self, handle: Handle, reason: Reason) -> None:
        self._called("cancel", handle)
        await self.end(handle.name, DONE.model_copy(update={"state": State.FAILED, "reason": reason, "error": "over"}))

    async def remove(self, handle: Handle) -> None:
        self._called("remove", handle)
        self.boxes.pop(handle.name, None)

    async def handles(self) -> tuple[Handle, ...]:
        self._called("handles", Handle(name="x"))
        return tuple(Handle(name=name) for name in sorted(self.boxes))

    async def close(self) -> None:
        self.closed = True

    async def fetch(self, handle: Handle, source: Source, secrets: Secrets, limits: Limits) -> Fetched:
        if self._called("fetch", handle).phase is Phase.RUNNING:
            raise Busy("A task runs in this sandbox.")
        if secrets.fetch_token is not None:
            self.tokens.append(secrets.fetch_token.get_secret_value())
        self.boxes[handle.name] = Box(workspace=True)
        return Fetched(base_commit="a" * 40, branch="main", words="Cloning into 'workspace'...\n")

    async def begin(self, job: Job) -> None:
        box = self._still(self._called("begin", Handle(name=job.name)))
        box.job, box.phase, box.outcome = job, Phase.RUNNING, None

    async def diff(self, handle: Handle) -> Changes:
        self._still(self._called("diff", handle))
        return Changes(base_commit="a" * 40, patch=self.patch, refusal="" if self.patch is not None else "git failed")

    async def snapshot(self, handle: Handle) -> Snapshot:
        box = self._still(self._called("snapshot", handle))
        box.snapshot = Snapshot(id=f"{handle.name}-1", size=4096)
        return box.snapshot

    async def copy(self, handle: Handle, origin: Handle) -> None:
        if self._called("copy", handle).workspace:
            raise Busy("This sandbox is there already.")
        if (self.boxes.get(origin.name) or Box()).snapshot is None:
            raise NotThere("There is no snapshot of that sandbox.")
        self.boxes[handle.name] = Box(workspace=True)

    async def events(self, handle: Handle) -> AsyncIterator[Status]:
        box = self._called("events", handle)
        yield Status(phase=box.phase)
        if box.phase is Phase.RUNNING:
            async with self.changed:
                await self.changed.wait_for(lambda: box.phase is not Phase.RUNNING)
            yield Status(phase=box.phase)


@dataclass
class Served:
    """A runner that listens, and a session that calls it with its token."""

    memory: Memory
    server: RunnerServer
    session: aiohttp.ClientSession

    def call(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> aiohttp.client._RequestContextManager:
        return self.session.request(method, f"{self.server.url}{path}", data=body, headers=headers)

    async def answer(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        async with self.call(method, path, body) as response:
            return response.status, await response.read()


def tokens_file(folder: Path) -> Path:
    path = folder / "tokens"
    path.write_text(f"# callers\nbot {TOKEN}\n\nalice {OTHER_TOKEN}\n")
    path.chmod(0o640)
    return path


@asynccontextmanager
async def served(
    folder: Path, memory: Memory | None = None, settings: Settings | None = None, listen: str = "127.0.0.1:0"
) -> AsyncIterator[Served]:
    memory = memory or Memory()

    async def opener() -> Memory:
        return memory

    api = ApiSettings(listen=listen, tokens_file=tokens_file(folder))
    async with serving(settings or Settings(state_dir=folder), api, opener) as server:
        await server.opened()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            yield Served(memory, server, session)
