"""The setup phase: before the agent starts, a repository's dependencies are made ready by commands of the operator's.

They run in a container of the agent's own image, with the allowed destinations and without the model, over copies of
the files that decide about dependencies (``Setup.lockfiles``) and nothing else of the repository. So what they leave in
``/deps`` depends on what its key is made of, and on nothing that a task has written elsewhere: it can be kept, and
mounted read-only for the next task. A failure is a note to the user and to the agent, never the end.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import tarfile
from dataclasses import dataclass

from sandbox import deps
from sandbox.background import spawn
from sandbox.context import Context
from sandbox.deps import Given
from sandbox.engine import Gone, Plan, Refused
from sandbox.engines import names as things
from sandbox.engines import plan
from sandbox.helpers import HelperFailed, json_object, run
from sandbox.job import Job, Setup
from sandbox.task import Task

READ_SECONDS = 60.0  # of a few small files; a tree at its bounds takes seconds
READ_BYTES = 32 * 2**20  # 16 MiB of files, as base64 in JSON
WORDS_BYTES = 2_000  # of what the commands say, the end
CANCEL_SECONDS = 1.0  # between two looks for a cancel
START_SECONDS = 30.0  # of the container, before the commands' own time
RELAY_SECONDS = 10.0  # beyond the commands' own time: inside, the relays come first


@dataclass(frozen=True)
class Ready:
    """What a task is given: a volume, empty where there is none, and what went wrong, for the user and the agent."""

    volume: str = ""
    note: str = ""


class _Failed(Exception):
    """The commands did not do their work; ``str()`` is for the user."""


def wanted(context: Context, job: Job, repository: str | None) -> Setup | None:
    """The job's own, else the operator's for this repository; None where there is nothing to do."""
    setup = job.setup
    if setup is None and repository is not None:
        setup = context.settings.setups.get(repository.lower())
    return setup if setup is not None and setup.commands else None


async def ready(context: Context, task: Task, repository: str, setup: Setup) -> Ready:
    """Dependencies for this task, found or made. The workspace is filled, and the egress has a setup listener.

    Two tasks that want the same at the same time: one makes it, and the other waits for it. Raises ``Unreachable``.
    """
    names = context.names(task.job.name)
    try:
        given = await _given(context, names, setup)
        # The image that the agent runs in: what is compiled for one does not fit another.
        key = deps.key_of(repository, task.image, setup, given)
        async with context.setups.of(key):
            if volume := await deps.found(context, key):
                return Ready(volume)
            await _make(context, task, setup, given, key)
            return Ready(await deps.found(context, key))
    except _Failed as error:
        return Ready(note=str(error))
    except (HelperFailed, Refused, Gone) as error:
        return Ready(note=f"The repository's dependencies could not be made ready: {error}.")


async def _given(context: Context, names: things.Names, setup: Setup) -> Given:
    if not setup.lockfiles:
        return Given({})
    what = plan.lockfiles(names, context.ground, context.images.base, setup.lockfiles)
    ran = await run(context, what, seconds=READ_SECONDS, most_bytes=READ_BYTES)
    answer = json_object(ran)
    if ran.exit_code != 0:
        raise HelperFailed(str(answer.get("error") or f"exit status {ran.exit_code}"))
    try:
        files = {str(path): (base64.b64decode(data), bool(runs)) for path, runs, data in answer["files"]}
        return Given(files, tuple(str(path) for path in answer["missing"]))
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise HelperFailed(f"the answer about its lock files makes no sense ({type(error).__name__})") from error


async def _make(context: Context, task: Task, setup: Setup, given: Given, key: str) -> None:
    names, limits = context.names(task.job.name), task.job.limits
    await _fill(context, names, setup, given)
    async with deps.draft(context, names, key, limits) as draft:
        what = plan.setup(names, context.ground, task.image, limits, draft.volume)
        await context.engine.create(what)
        cancelled = spawn(_until_cancelled(context, task.job.name, what), name=f"setup of {task.job.name}")
        try:
            code, words = await _run(context, what, setup.seconds)
        finally:
            cancelled.cancel()
        if code != 0:
            raise _Failed(_sentence(code, words, setup))
        draft.whole = True


async def _until_cancelled(context: Context, name: str, what: Plan) -> None:
    """Nobody waits for the dependencies of a task that has been cancelled."""
    task = context.state(name).task()
    while await context.disk.run(task.killed) is None:  # noqa: ASYNC110 - a file
        await asyncio.sleep(CANCEL_SECONDS)
    await context.engine.kill(what.name)


async def _fill(context: Context, names: things.Names, setup: Setup, given: Given) -> None:
    await context.engine.make_volume(things.setup_volume(names))
    filler = plan.setup_filler(names, context.ground, context.images.base)
    await context.engine.remove(filler.name)  # of a preparation that was killed
    await context.engine.create(filler)
    try:
        await context.engine.put(filler.name, "/setup", archive(setup, given))
    finally:
        await context.engine.remove(filler.name)


def archive(setup: Setup, given: Given) -> bytes:
    """``commands``, one script, and ``repo/``; everything root's, readable by all."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        folders = {"repo", *(f"repo/{parent}" for path in given.files for parent in _parents(path))}
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        script = "".join(f"{command}\n" for command in setup.commands).encode()
        inside = ((f"repo/{path}", data, runs) for path, (data, runs) in given.files.items())
        for path, data, runs in [("commands", script, False), *inside]:
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o755 if runs else 0o644
            tar.addfile(entry, io.BytesIO(data))
    return target.getvalue()


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


async def _run(context: Context, what: Plan, seconds: float) -> tuple[int | None, str]:
    """The exit status (None: it took too long and was killed) and the end of what was said."""
    engine, tail = context.engine, bytearray()
    try:
        async with asyncio.timeout(START_SECONDS) as limit, engine.attach(what.name) as stream:
            await engine.start(what.name)
            limit.reschedule(asyncio.get_running_loop().time() + seconds + RELAY_SECONDS)
            while (piece := await stream.read()) is not None:
                tail += piece[1]
                del tail[:-WORDS_BYTES]
            await engine.ended(what.name, START_SECONDS)
        look = await engine.look(what.name)
        code = look.exit_code if look is not None else None
    except TimeoutError:
        await engine.kill(what.name)
        code = None
    return code, tail.decode(errors="replace")


def _sentence(code: int | None, words: str, setup: Setup) -> str:
    why = f"they took longer than {setup.seconds} s" if code is None else f"exit status {code}"
    said = f" The end of what was said:\n{words.strip()}" if words.strip() else ""
    return f"The repository's dependencies could not be made ready: {why}.{said}"


def for_agent(note: str) -> str:
    """What an agent is told of a failure, after its task: the reason alone."""
    return f"\n\n(Note from the sandbox: {note.partition(' The end of')[0]} Work without them.)"
