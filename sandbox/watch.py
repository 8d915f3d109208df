"""Look at a running agent and decide whether it is over. What is kept in memory here only saves work."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from sandbox.agents import Agent, Reader
from sandbox.context import Context
from sandbox.egress.meter import Breach
from sandbox.egress.report import Following
from sandbox.engine import STDOUT, Look
from sandbox.job import Progress, Usage
from sandbox.metered import metered
from sandbox.verdict import Kill, over

GRACE_SECONDS = 30.0  # from the agent's final event to our kill: MCP children and installers keep pipes open
TAIL_LINES = 500  # of the log, a look: progress may skip, and an engine reads a tail without reading all
OVERLAP_SECONDS = 1.0  # read twice between two looks, so that nothing falls between them


@dataclass(frozen=True)
class View:
    """What one look saw, for ``decide``. Seconds."""

    elapsed: float
    wall: float
    egress_runs: bool
    since_final: float | None
    breach: Breach | None = None


def decide(view: View) -> Kill | None:
    """Whether the agent must be killed now, and as what. A finished agent is not late."""
    if view.since_final is not None and view.since_final >= GRACE_SECONDS:
        return Kill.FINISHED
    if view.breach is not None and view.since_final is None:
        return Kill(over(view.breach)[0].value)
    if view.elapsed >= view.wall:
        return Kill.DEADLINE
    if not view.egress_runs and view.since_final is None:
        return Kill.EGRESS_LOST
    return None


@dataclass(frozen=True)
class Seen:
    """What one look saw, for whoever asked. ``due``: the kill that must be done now, with ``words`` for the user."""

    progress: Progress
    due: Kill | None = None
    words: str = ""
    metered: Usage = field(default_factory=Usage)
    model_requests: int = 0


@dataclass
class Watched:
    """One sandbox's place in its log. After a restart it begins anew, at the log's tail."""

    reader: Reader
    journal: Following = field(default_factory=Following)
    read_until: float = 0.0
    final_seen: float | None = None
    started_at: float = 0.0
    """Of the agent that is followed: a later one in the same sandbox is another's business."""

    def saw(self, *, final: bool, now: float) -> None:
        """Since when the final event has been the last word: work after it takes it back."""
        if not final:
            self.final_seen = None
        elif self.final_seen is None:
            self.final_seen = now


class Watch:
    """Follows the agents of all sandboxes of one service."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._watched: dict[str, Watched] = {}

    def forget(self, sandbox: str) -> None:
        self._watched.pop(sandbox, None)

    async def look(self, sandbox: str, agent: Agent, wall: float, started_at: float) -> Seen:
        """The agent's progress, what it has used so far, and the kill that is due if any."""
        watched = self._watched.get(sandbox)
        if watched is None or watched.started_at != started_at:
            watched = self._watched[sandbox] = Watched(agent.reader(), started_at=started_at)
        names = self._context.names(sandbox)
        engine = self._context.engine
        since = max(0.0, watched.read_until - OVERLAP_SECONDS)
        asked_at = self._context.clock()
        egress, *_ = await asyncio.gather(
            engine.look(names.of("egress")),
            self._read(watched, names.of("agent"), since),
            self._follow(watched, names.of("egress"), since),
        )
        watched.read_until = asked_at
        now = self._context.clock()
        watched.saw(final=watched.reader.final, now=now)
        view = View(
            elapsed=now - started_at,
            wall=wall,
            egress_runs=_runs(egress),
            since_final=None if watched.final_seen is None else now - watched.final_seen,
            breach=(journal := watched.journal.report()).breach,
        )
        words = over(journal.breach)[1] if journal.breach is not None else ""
        return Seen(watched.reader.progress, decide(view), words, metered(journal, None), journal.model_requests)

    async def _follow(self, watched: Watched, container: str, since: float) -> None:
        """The journal since the last look, whole: a line that is read twice counts once."""

        def feed(channel: int, piece: bytes) -> None:
            if channel == STDOUT:
                watched.journal.feed(piece)

        watched.journal.again()
        await self._context.engine.logs(container, feed, since=since)

    async def _read(self, watched: Watched, container: str, since: float) -> None:
        def feed(channel: int, piece: bytes) -> None:
            if channel == STDOUT:
                watched.reader.feed(piece)

        watched.reader.feed(b"\n")  # the last look may have ended inside a line
        await self._context.engine.logs(container, feed, tail=TAIL_LINES, since=since)


def _runs(look: Look | None) -> bool:
    return look is not None and look.running and not look.paused
