"""The inputs volume: prompt, requests and files for HOME, read-only for all who mount it."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping

from sandbox.agents import Agent, Run
from sandbox.agents.agent import GIVEN
from sandbox.context import Context
from sandbox.engines import plan
from sandbox.engines.names import AGENT_UID, LOCK_GID
from sandbox.helpers import create_anew
from sandbox.job import Job, Limits, Source
from sandbox.source import fetch_request

HOME = "home"
"""What is below it goes into the agent's HOME (images/base/entry)."""
ATTACHED = "attachments"
"""Files that came along with the prompt."""
FOLDER = GIVEN.removeprefix("/inputs/")


def for_fetch(source: Source, repository: str | None, limits: Limits, mirror: str = "") -> dict[str, bytes]:
    """What the fetch helper reads. ``mirror``: what the mounted one goes by (``sandbox.source.identity``)."""
    files = {"fetch.json": json.dumps(fetch_request(source, repository, limits, mirror)).encode()}
    if source.bundle is not None:
        files["bundle"] = source.bundle
    if source.patch is not None:
        files["patch"] = source.patch
    return files


def for_agent(job: Job, agent: Agent, run: Run) -> dict[str, bytes]:
    """What the entry and the agent read."""
    return {
        "prompt": agent.prompt(job.prompt),
        "agent.json": json.dumps({"agent": job.agent}).encode(),
        **{f"{HOME}/{path}": data for path, data in agent.home(run).items()},
        **{f"{ATTACHED}/{one.name}": one.data for one in job.attachments},
    }


def for_instructions(agent: Agent, given: Mapping[str, bytes]) -> dict[str, bytes]:
    """Copies that the agent reads instead of the repository's own instruction files."""
    return {
        **{f"{FOLDER}/{path}": data for path, data in given.items()},
        **{f"{HOME}/{path}": data for path, data in agent.instructions(given).items()},
    }


async def fill(context: Context, name: str, files: Mapping[str, bytes], mirror: str = "") -> None:
    """Put them into the volume, through a container that is never started. ``mirror``: a volume to lay out as well."""
    filler = plan.filler(context.names(name), context.ground, context.images.base, mirror=mirror)
    await create_anew(context, filler)  # the one before may still be on its way out
    await context.engine.put(filler.name, "/inputs", archive(files))
    if mirror:
        await context.engine.put(filler.name, "/mirror", mirror_layout())
    context.remove_later(filler.name)


def archive(files: Mapping[str, bytes]) -> bytes:
    """A tar archive: everything root's and readable by all, folders before what is in them."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for folder in sorted({parent for name in files for parent in _parents(name)}):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o555
            tar.addfile(entry)
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o444
            tar.addfile(entry, io.BytesIO(data))
    return target.getvalue()


def mirror_layout() -> bytes:
    """The two folders of a mirror (sandbox.inside.mirror). Folders, for those that are there already stay as they are:
    the lock is the helper's group's to open and not the agent's, though both have the same uid."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for folder, uid, gid, mode in (("lock", 0, LOCK_GID, 0o750), ("data", AGENT_UID, AGENT_UID, 0o755)):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.uid, entry.gid, entry.mode = tarfile.DIRTYPE, uid, gid, mode
            tar.addfile(entry)
    return target.getvalue()


def _parents(name: str) -> list[str]:
    parts = name.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
