"""From an ended agent to its outcome: what it said, what the egress saw, what changed, and the verdict."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO

from pydantic import ValidationError

from sandbox.agents import Reader
from sandbox.context import Context, boot_id
from sandbox.egress import report
from sandbox.engine import STDERR, STDOUT, Look, Refused
from sandbox.engines import names as things
from sandbox.engines import plan
from sandbox.helpers import HelperFailed, Ran, run, store
from sandbox.job import Changes, Job, Outcome, Reason, State
from sandbox.state import Killed, Ready
from sandbox.verdict import STDERR_CHARACTERS, Facts, judge

EXTRACT_SECONDS = 240.0  # the extractor stops itself after 180 s
HEADER_BYTES = 16 << 20  # its JSON line: some thousand paths of 1 KiB
STDERR_BYTES = 4 * STDERR_CHARACTERS  # UTF-8 takes up to four bytes a character
JOURNAL_MEMORY_BYTES = 1 << 20  # an egress journal larger than this goes through a file
JOURNAL_LINE_BYTES = 64 * 1024  # its lines are 1 KiB at most
ANSWER_WAIT_SECONDS = 2.0  # the egress may write its line a moment after the agent has read the answer and exited
ANSWER_POLL_SECONDS = 0.1
# Less left than this is full: a program that met the wall has often given a last piece back, and ext4 itself keeps
# back 2 % or 16 MiB, whichever is less, of which some shows as free afterwards.
FULL_SHARE = 0.04
FULL_BLOCKS = 8_192
FULL_INODES = 8


@dataclass(frozen=True)
class Heard:
    """What the agent's container said."""

    reader: Reader
    stderr: str


@dataclass(frozen=True)
class Taken:
    """What was read back from the work tree. ``changes`` None: ``notes`` says why."""

    changes: Changes | None
    disk_full: bool = False
    notes: tuple[str, ...] = ()


def gone(words: str = "The sandbox is not there any more.") -> Outcome:
    """The outcome of a sandbox of which nothing is left."""
    return Outcome(state=State.LOST, reason=Reason.LOST, error=words)


async def collect(context: Context, job: Job, look: Look | None, killed: Killed | None) -> Outcome:
    """Read everything and judge. The agent does not run any more. Safe to repeat."""
    ready = await context.disk.run(context.state(job.name).ready)
    heard, journal = await _heard(context, job), await _journal(context, job.name)
    egress = await context.engine.look(context.names(job.name).of("egress"))
    if heard.reader.final and not heard.reader.error and journal.model_answers == 0:
        journal = await _late_answer(context, job.name, journal)
    taken = await _changes(context, job, ready)
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
            stderr=heard.stderr,
            model_answers=journal.model_answers,
            wall_seconds=job.limits.wall_seconds,
        )
    )
    return Outcome(
        state=verdict.state,
        reason=verdict.reason,
        error=verdict.error,
        reply=heard.reader.reply,
        exit_code=look.exit_code if look else None,
        usage=heard.reader.usage,
        changes=taken.changes,
        blocked=journal.blocked,
        model_requests=journal.model_answers,
        duration_seconds=_duration(look),
        notes=(*verdict.notes, *heard.reader.notes, *taken.notes),
    )


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


async def _changes(context: Context, job: Job, ready: Ready | None) -> Taken:
    if ready is None:
        return Taken(None, notes=("The repository had not been fetched.",))
    try:
        ran = await _extract(context, job, ready)
        return _taken(ran, job)
    except (HelperFailed, Refused) as error:
        return Taken(None, notes=(f"The changes could not be read: {error}.",))


async def _extract(context: Context, job: Job, ready: Ready) -> Ran:
    """Run the extractor. After another boot the loop devices are attached anew first, under whatever numbers."""
    names = context.names(job.name)
    ws, clean = names.of("ws"), names.of("clean")
    if not ready.boot or ready.boot != boot_id():
        ws, clean = await _attached_again(context, job.name)
    for volume in (ws, clean):  # a missing one would be made up by the engine, empty
        if await context.engine.volume(volume) is None:
            raise HelperFailed("the workspace is gone")
    what = plan.extract(names, context.ground, context.images.base, job.limits, ws, clean)
    most = job.limits.patch_bytes + HEADER_BYTES
    return await run(context, what, seconds=EXTRACT_SECONDS, most_bytes=most)


async def _attached_again(context: Context, sandbox: str) -> tuple[str, str]:
    """Volumes of their own over the re-attached devices: the old ones name devices that may be somebody else's."""
    names = context.names(sandbox)
    devices = await store(context, sandbox, "attach", sandbox)
    made = []
    for role in ("ws", "clean"):
        device = str(devices[role])
        volume = things.loop_volume(names, f"{role}-{device.rpartition('/')[2]}", device)
        await context.engine.make_volume(volume)
        made.append(volume.name)
    return made[0], made[1]


def _taken(ran: Ran, job: Job) -> Taken:
    line, _, rest = ran.stdout.partition(b"\n")
    full = _full(ran.stderr)
    try:
        header = json.loads(line)
        if ran.exit_code != 0:
            raise HelperFailed(str(header.get("error") or f"exit status {ran.exit_code}"))
        length = header.pop("patch_length")
        refused = bool(header.get("refusal"))
        if length != len(rest) or length > job.limits.patch_bytes:
            raise HelperFailed("its answer was cut short")
        changes = Changes.model_validate({**header, "patch": None if refused else b""})
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise HelperFailed(f"the extractor's answer makes no sense ({type(error).__name__})") from error
    return Taken(changes if refused else changes.model_copy(update={"patch": rest}), full)


def _full(stderr: bytes) -> bool:
    """The first line is `stat -f` of the workspace: blocks free and in all, inodes free (plan.extract)."""
    words = stderr.partition(b"\n")[0].split()
    if len(words) != 3 or not all(word.isdigit() for word in words):
        return False
    free, total, inodes = map(int, words)
    return free < min(FULL_BLOCKS, total * FULL_SHARE) or inodes < FULL_INODES
