"""From an ended agent to its outcome: what it said, what the egress saw, what changed, and the verdict."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO

from sandbox.agents import Reader
from sandbox.context import Context
from sandbox.egress import report
from sandbox.engine import STDERR, STDOUT, Look
from sandbox.extraction import changes
from sandbox.job import Changes, Job, Outcome, Reason, State
from sandbox.link import model_of
from sandbox.metered import differences, metered
from sandbox.prices import estimated, price
from sandbox.state import Killed
from sandbox.verdict import STDERR_CHARACTERS, Facts, Kill, judge, over

STDERR_BYTES = 4 * STDERR_CHARACTERS  # UTF-8 takes up to four bytes a character
JOURNAL_MEMORY_BYTES = 1 << 20  # an egress journal larger than this goes through a file
JOURNAL_LINE_BYTES = 64 * 1024  # its lines are 1 KiB at most
ANSWER_WAIT_SECONDS = 2.0  # the egress may write its line a moment after the agent has read the answer and exited
ANSWER_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Heard:
    """What the agent's container said."""

    reader: Reader
    stderr: str


def gone(words: str = "The sandbox is not there any more.") -> Outcome:
    """The outcome of a sandbox of which nothing is left."""
    return Outcome(state=State.LOST, reason=Reason.LOST, error=words)


async def collect(context: Context, job: Job, look: Look | None, killed: Killed | None) -> Outcome:
    """Read everything and judge. The agent does not run any more. Safe to repeat."""
    workspace = await context.disk.run(context.state(job.name).workspace)
    heard, journal = await _heard(context, job), await _journal(context, job.name)
    egress = await context.engine.look(context.names(job.name).of("egress"))
    if heard.reader.final and not heard.reader.error and journal.model_answers == 0:
        journal = await _late_answer(context, job.name, journal)
    taken = await changes(context, job.name, workspace, job.limits)
    noted = await context.disk.run(context.state(job.name).task().notes)
    verdict = judge(
        Facts(
            kill=killed.reason if killed else None,
            present=look is not None,
            exit_code=look.exit_code if look else None,
            oom=bool(look and look.oom),
            disk_full=taken.disk_full,
            egress_died=bool(look and look.started) and (egress is None or not egress.running),
            final=heard.reader.final,
            agent_error=heard.reader.error,
            refused=heard.reader.refused,
            replied=bool(heard.reader.reply.strip()),
            changed=_changed(taken.changes),
            stderr=heard.stderr,
            model_answers=journal.model_answers,
            over=_over(journal, killed),
            wall_seconds=job.limits.wall_seconds,
        )
    )
    model = model_of(context.settings, job)
    wire = metered(journal, price(model))
    return Outcome(
        state=verdict.state,
        reason=verdict.reason,
        error=verdict.error,
        reply=heard.reader.reply,
        exit_code=look.exit_code if look else None,
        usage=estimated(heard.reader.usage, model),
        metered=wire,
        changes=taken.changes,
        blocked=journal.blocked,
        model_requests=journal.model_answers,
        duration_seconds=_duration(look),
        notes=(
            *verdict.notes,
            *noted,
            *heard.reader.notes,
            *taken.notes,
            *differences(heard.reader.usage, wire, journal),
        ),
    )


def _over(journal: report.Report, killed: Killed | None) -> tuple[Reason, str] | None:
    """The bound of the budget that was reached: as the journal has it, or as it was when we killed for it."""
    if journal.breach is not None:
        return over(journal.breach)
    if killed is not None and killed.reason in (Kill.BUDGET, Kill.LOOP):
        return Reason(killed.reason.value), killed.words
    return None


def _changed(changes: Changes | None) -> bool | None:
    """None: it could not be read, or not be taken over as a patch."""
    return None if changes is None or changes.patch is None else bool(changes.patch)


def _duration(look: Look | None) -> float:
    if look is None or look.started_at is None or look.finished_at is None:
        return 0.0
    return max(0.0, look.finished_at - look.started_at)


async def _heard(context: Context, job: Job) -> Heard:
    reader, stderr = context.agents[job.agent].reader(), bytearray()

    def feed(channel: int, piece: bytes) -> None:
        if channel == STDOUT:
            reader.feed(piece)
        elif channel == STDERR:
            stderr.extend(piece)
            del stderr[:-STDERR_BYTES]

    await context.engine.logs(context.names(job.name).of("agent"), feed)
    reader.finish()
    return Heard(reader, stderr.decode(errors="replace")[-STDERR_CHARACTERS:])


async def _journal(context: Context, sandbox: str) -> report.Report:
    with tempfile.SpooledTemporaryFile(JOURNAL_MEMORY_BYTES) as kept:

        def feed(channel: int, piece: bytes) -> None:
            if channel == STDOUT:
                kept.write(piece)

        await context.engine.logs(context.names(sandbox).of("egress"), feed)
        kept.seek(0)
        return await context.disk.run(lambda: report.read(_lines(kept)))


def _lines(source: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(source.readline, JOURNAL_LINE_BYTES), b"")


async def _late_answer(context: Context, sandbox: str, journal: report.Report) -> report.Report:
    tries = int(ANSWER_WAIT_SECONDS / ANSWER_POLL_SECONDS)
    for _ in range(tries):
        await asyncio.sleep(ANSWER_POLL_SECONDS)
        journal = await _journal(context, sandbox)
        if journal.model_answers:
            break
    return journal
