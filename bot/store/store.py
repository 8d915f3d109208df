"""The store as the rest of `bot` sees it: every method is one transaction, run in a thread of its own executor.

Synchronous SQLAlchemy in one small pool costs one hop a transaction, where an asynchronous driver costs a hop a
statement. After a method has returned, what it wrote is on the disk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from bot.store import changes, claim, conversation, insert, labelled, reads, writes
from bot.store.batch import Batcher
from bot.store.claim import Caps
from bot.store.engine import StoreError, make_engine, parse_url, threads_for, transact
from bot.store.locks import CLAIM_SPACE, WorkerLock, serialise
from bot.store.migrate import migrate
from bot.store.rows import Task, work_column
from bot.tasks import Change, Ending, Request, TaskState, Verb
from bot.work import Pull, Work
from sandbox import Outcome

_log = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds that a claim holds without a beat. A worker that died is taken over after this; one that is only slow (a
# paused machine) must not lose its tasks. Beats come every third of it.
LEASE_SECONDS = 30.0


class Store:
    """One database. Methods may be called concurrently, from one event loop; after ``close`` none."""

    def __init__(self, engine: Engine, threads: int, clock: Callable[[], float] | None) -> None:
        self._engine = engine
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="gofer-store")
        self._clock = clock
        self._lock: WorkerLock | None = None
        self._adds: Batcher[Request, bool] = Batcher(self._add)

    @classmethod
    async def open(cls, url: str, *, clock: Callable[[], float] | None = None) -> Store:
        """Connect and bring the schema up to date. Raises ``StoreError`` with words for the operator.

        Without a ``clock`` PostgreSQL's own is used (several hosts share it), or the machine's with SQLite.
        """
        parsed = parse_url(url)
        store = cls(make_engine(parsed), threads_for(parsed), clock)
        try:
            await store._hop(lambda: migrate(store._engine))
        except DBAPIError as error:
            await store.close()
            raise StoreError(f"the database cannot be opened: {error.orig}") from None
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self, seconds: float | None = None) -> None:
        """Wait for writes under way, then let go of threads, connections and the worker's name.

        With ``seconds``, no longer than that: a transaction that hangs then is left to end with the process.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._adds.close()
                await self._hop(self._let_go)
        except TimeoutError:
            _log.warning("the database does not answer; what was not written by now is not written")
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def become_worker(self, worker: str) -> None:
        """Take the name ``worker``, and let go of all that a dead process of this name still holds.

        With SQLite there is one worker at all, so everything is let go. Raises ``StoreError`` where the name is taken.
        """
        self._lock = await self._hop(lambda: WorkerLock(self._engine, worker))
        alone = self._engine.dialect.name == "sqlite"
        await self._run(lambda c, now: writes.let_go(c, None if alone else worker, now))

    async def add(self, request: Request) -> bool:
        """Queue what was asked; False where it is known (by delivery id or content key). Durable when it returns."""
        return await self._adds.add(request)

    async def apply(self, change: Change) -> int:
        """Ask for the end of the tasks that ``change`` is about; how many there are. Safe to repeat."""
        return await self._run(lambda c, now: changes.apply(c, change, now))

    async def claim(self, worker: str, caps: Caps, busy: frozenset[str] = frozenset()) -> list[Task]:
        """Tasks that are the caller's from now on, until a lease runs out. ``busy`` are those it works on already."""

        def body(connection: Connection, now: float) -> list[Task]:
            serialise(connection, CLAIM_SPACE)
            return claim.claim(connection, worker, now, LEASE_SECONDS, caps, busy)

        return await self._run(body)

    async def claim_waiting(self, worker: str, task_id: str) -> Task | None:
        """One task of the queue, to show its position; ``release`` it soon."""

        def body(connection: Connection, now: float) -> Task | None:
            serialise(connection, CLAIM_SPACE)
            return claim.claim_waiting(connection, worker, now, LEASE_SECONDS, task_id)

        return await self._run(body)

    async def admit(self, task: Task, caps: Caps) -> Task:
        """The asker may, and an agent is to run. Gives the task a place at once where one is free for it
        (``started_at`` is set then)."""

        def body(connection: Connection, now: float) -> Task:
            serialise(connection, CLAIM_SPACE)
            # whatever it was asked with (``retry``): from now on it counts as what runs an agent
            writes.write(connection, task, now, admitted_at=now, verb=Verb.RUN.value)
            claim.start_held(connection, task.task_id, caps, now)
            return writes.write(connection, task, now)

        return await self._run(body)

    async def beat(self, worker: str, held: Mapping[str, int]) -> dict[str, bool]:
        """Keep what is worked on (task id -> fence); answers those still held -> whether a cancel is wanted."""
        return await self._run(lambda c, now: writes.beat(c, worker, held, now, LEASE_SECONDS))

    async def move(self, task: Task, new: TaskState) -> Task:
        """Into another state. Raises ``LeaseLost``; ``ValueError`` where that step is not legal."""
        return await self._run(lambda c, now: writes.move(c, task, new, now))

    async def set_handle(self, task: Task, handle: str) -> Task:
        """Before the sandbox of this name is made, together with the step to preparing."""
        return await self._run(lambda c, now: writes.move(c, task, TaskState.PREPARING, now, handle=handle))

    async def set_status_comment(self, task: Task, comment_id: int) -> Task:
        return await self._run(lambda c, now: writes.write(c, task, now, status_comment_id=comment_id))

    async def set_result_comment(self, task: Task, comment_id: int) -> Task:
        return await self._run(lambda c, now: writes.write(c, task, now, result_comment_id=comment_id))

    async def set_position(self, task: Task, position: int) -> Task:
        return await self._run(lambda c, now: writes.write(c, task, now, shown_position=position))

    async def set_work(self, task: Task, work: Work) -> Task:
        """What has been decided or done, before what follows from it."""
        return await self._run(lambda c, now: writes.write(c, task, now, work=work_column(work)))

    async def set_outcome(self, task: Task, outcome: Outcome, ending: Ending) -> Task:
        """Store everything known about the end, patch included, and step to publishing. Before anything is posted."""
        return await self._run(lambda c, now: writes.store_outcome(c, task, outcome, ending, now))

    async def finish(self, task: Task, ending: Ending) -> Task:
        """Done and let go of."""
        return await self._run(lambda c, now: writes.finish(c, task, ending, now))

    async def release(self, task: Task, *, after: float = 0.0, put_off: bool = False) -> None:
        """Let go; it may be claimed again in ``after`` seconds. ``put_off`` counts it as a failed try."""
        await self._run(lambda c, now: writes.release(c, task, now + after, now, put_off))

    async def request_cancel(self, task_id: str) -> bool:
        """Whoever works on the task learns of it with the next beat. False where there is nothing to cancel."""
        return await self._run(lambda c, now: writes.request_cancel(c, task_id, now))

    async def task(self, task_id: str) -> Task | None:
        return await self._run(lambda c, _: reads.one(c, task_id))

    async def tasks(self) -> list[Task]:
        """All of them, oldest first. For tests and small tools."""
        return await self._run(lambda c, _: reads.every(c))

    async def outcome(self, task_id: str) -> Outcome | None:
        return await self._run(lambda c, _: reads.outcome(c, task_id))

    async def patch(self, task_id: str) -> bytes | None:
        return await self._run(lambda c, _: reads.patch(c, task_id))

    async def of_thread(self, repository_id: int, thread: int, most: int = 20) -> list[Task]:
        """Tasks that bring work there (an agent's, or an earlier result in another form), the newest first."""
        return await self._run(lambda c, _: conversation.of_thread(c, repository_id, thread, most))

    async def with_result(self, repository_id: int, thread: int) -> Task | None:
        """The newest task of a thread that has a stored patch."""
        return await self._run(lambda c, _: conversation.with_result(c, repository_id, thread))

    async def asked_since(self, seconds: float, **whose: int) -> list[float]:
        """How many seconds ago admitted tasks were made within the last ``seconds``, the oldest first."""

        def body(connection: Connection, now: float) -> list[float]:
            return [now - at for at in conversation.asked_since(connection, now - seconds, **whose)]

        return await self._run(body)

    async def asked_in(self, most: int) -> list[tuple[Request, Request]]:
        """The first and the newest request of each repository, of ``most`` repositories, those asked in last first."""
        return await self._run(lambda c, _: conversation.asked_in(c, most))

    async def pull(self, repository_id: int, number: int) -> Pull | None:
        """A pull request of ours."""
        return await self._run(lambda c, _: conversation.pull(c, repository_id, number))

    async def pulls_in(self, repository_id: int, most: int) -> list[int]:
        """The numbers of our pull requests in a repository, the newest ``most``."""
        return await self._run(lambda c, _: conversation.pulls_in(c, repository_id, most))

    async def label_asked(self, repository_id: int, thread: int, label: str) -> datetime | None:
        """When this label was put on a thread last, as far as its tasks tell."""
        return await self._run(lambda c, _: labelled.last_asked(c, repository_id, thread, label))

    async def pull_of_thread(self, repository_id: int, thread: int) -> Pull | None:
        """The newest pull request of ours that was asked for on a thread."""
        return await self._run(lambda c, _: conversation.pull_of_thread(c, repository_id, thread))

    async def save_pull(self, pull: Pull) -> None:
        """Remember a pull request of ours as it is now."""
        await self._run(lambda c, _: conversation.save_pull(c, pull))

    async def handles(self) -> frozenset[str]:
        """Names of sandboxes that unfinished tasks own. A name is in it before its sandbox is made."""
        return await self._run(lambda c, _: reads.handles(c))

    async def queue(self) -> list[tuple[str, int | None]]:
        """Waiting tasks in order, each with the position shown last."""
        return await self._run(lambda c, _: reads.queue(c))

    async def running(self) -> int:
        """Tasks that have a place."""
        return await self._run(lambda c, _: reads.running(c))

    async def _add(self, requests: Sequence[Request]) -> Sequence[bool]:
        return await self._run(lambda c, now: insert.add(c, requests, now))

    async def _run(self, body: Callable[[Connection, float], T]) -> T:
        """One transaction; ``body`` gets the connection and the time, and must be safe to repeat."""
        return await self._hop(lambda: transact(self._engine, lambda c: body(c, self._now(c))))

    async def _hop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _now(self, connection: Connection) -> float:
        if self._clock is not None:
            return self._clock()
        if self._engine.dialect.name == "sqlite":
            return time.time()
        return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.close()
        self._engine.dispose()
