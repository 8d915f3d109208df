"""Run a helper container to its end and take its answer, byte for byte."""

from __future__ import annotations

import asyncio
import io
import json
import secrets
from dataclasses import dataclass
from typing import Any

from sandbox.context import Context
from sandbox.engine import STDERR, STDOUT, Gone, Plan, Refused, Stream
from sandbox.engines import plan
from sandbox.engines.names import images_volume

STORE_SECONDS = 60.0  # mkfs and losetup take 0.1 s; the rest is for a busy disk
COPY_SECONDS = 600.0  # of a workspace's images: 6 GiB at 10 MB/s, which is a bad disk
STORE_BYTES = 1 << 20  # its answer: the names of all sandboxes at most
STDERR_BYTES = 64 * 1024  # kept of what a helper says on stderr: the beginning
END_SECONDS = 10.0  # from the end of a helper's output to its exit status
CONFLICT = 409


class HelperFailed(Exception):
    """The helper did not do its work; ``str()`` says why, in words that may be shown."""


@dataclass(frozen=True)
class Ran:
    """What a helper answered."""

    exit_code: int
    stdout: bytes
    stderr: bytes


async def run(context: Context, what: Plan, *, seconds: float, most_bytes: int) -> Ran:
    """Create, attach, start, read to the end; the container is removed beside the caller, however this ends.

    A leftover of the same name is removed first. Raises ``HelperFailed`` where it takes longer than ``seconds`` or
    answers more than ``most_bytes``.
    """
    await create_anew(context, what)
    return await run_created(context, what, seconds=seconds, most_bytes=most_bytes)


async def run_created(context: Context, what: Plan, *, seconds: float, most_bytes: int) -> Ran:
    """As ``run``, for a helper that has been created already."""
    engine = context.engine
    try:
        async with asyncio.timeout(seconds), engine.attach(what.name) as stream:
            await engine.start(what.name)
            stdout, stderr = await _read(stream, most_bytes)
            exit_code = await _exit_code(context, what.name)
    except TimeoutError as error:
        raise HelperFailed(f"it did not end within {seconds:.0f} s") from error
    except Gone as error:
        raise HelperFailed(f"something was removed under it ({error})") from error
    finally:
        context.remove_later(what.name)
    return Ran(exit_code, stdout, stderr)


async def create_anew(context: Context, what: Plan) -> None:
    """Create; a leftover of the same name (of a process that was killed) is removed first."""
    try:
        await context.engine.create(what)
    except Refused as error:
        if error.status != CONFLICT:
            raise
        await context.engine.remove(what.name)
        await context.engine.create(what)
    except Gone as error:
        raise HelperFailed(f"its image is gone ({error})") from error


async def store(context: Context, sandbox: str, *command: str, seconds: float = STORE_SECONDS) -> dict[str, Any]:
    """Run the store helper (a command of ``sandbox.inside.store``) and return its answer.

    Raises ``HelperFailed`` with its words.
    """
    instance = context.settings.instance
    await context.engine.make_volume(images_volume(instance, str(context.settings.store_dir or "")))
    what = plan.store(instance, sandbox, secrets.token_hex(4), context.ground, context.images.base, [*command])
    ran = await run(context, what, seconds=seconds, most_bytes=STORE_BYTES)
    answer = json_object(ran)
    if ran.exit_code != 0:
        raise HelperFailed(str(answer.get("error") or _said(ran)))
    return answer


async def _read(stream: Stream, most_bytes: int) -> tuple[bytes, bytes]:
    stdout, stderr = io.BytesIO(), bytearray()
    while (piece := await stream.read()) is not None:
        channel, data = piece
        if channel == STDOUT:
            stdout.write(data)
            if stdout.tell() > most_bytes:
                raise HelperFailed(f"it answered more than {most_bytes} bytes")
        elif channel == STDERR and len(stderr) < STDERR_BYTES:
            stderr += data
    return stdout.getvalue(), bytes(stderr[:STDERR_BYTES])  # its own buffer: an answer may be tens of megabytes


async def _exit_code(context: Context, container: str) -> int:
    await context.engine.ended(container, END_SECONDS)
    look = await context.engine.look(container)
    if look is None or look.exit_code is None:
        raise HelperFailed("it closed its output and did not end" if look else "its container is gone")
    return look.exit_code


def json_object(ran: Ran) -> dict[str, Any]:
    """The one JSON object that a helper answers. Raises ``HelperFailed`` where it answered anything else."""
    try:
        answer = json.loads(ran.stdout)
    except ValueError as error:
        raise HelperFailed(_said(ran)) from error
    if not isinstance(answer, dict):
        raise HelperFailed(_said(ran))
    return answer


def _said(ran: Ran) -> str:
    said = (ran.stderr or ran.stdout).decode(errors="replace").strip()[-1000:]
    return f"exit status {ran.exit_code}{': ' + said if said else ''}"
