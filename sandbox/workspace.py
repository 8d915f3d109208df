"""The workspace: two capped file systems on loop devices, and the helper that fetches a repository into them."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox import PrepareFailed
from sandbox.context import Context, boot_id
from sandbox.engine import Plan
from sandbox.engines import names as things
from sandbox.engines import plan
from sandbox.helpers import HelperFailed, json_object, run_created, store
from sandbox.job import Limits, Reason, Secrets, Source
from sandbox.state import Workspace

# The clean directory is a copy of the agent's .git at first, which must fit into the workspace beside the files.
CLEAN_SHARE = 2
CLEAN_BYTES_MIN = 16 * 2**20  # smaller ones have no room for ext4's own tables
CLEAN_INODES = 10_000  # a bare repository of one commit: packs and a few dozen small files
FETCH_GRACE_SECONDS = 30.0  # beyond the fetch's own limit: checkout and manifest end by that limit too
FETCH_BYTES = 1 << 20  # its answer: git's words, some thousand characters, and four instruction files in base64
WORDS_CHARACTERS = 2_000  # of git's words, the end, for the user
LOOP_ROLES = ("ws", "clean")


def new_id() -> str:
    """Of a workspace: lies in it and in the clean directory, where the agent cannot change it."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Filling:
    """What fills a workspace. ``repository``: OWNER/REPO on the git host, None for a bundle. ``mirror``: the volume
    of its mirror, empty where there is to be none."""

    context: Context
    name: str
    source: Source
    secrets: Secrets
    limits: Limits
    repository: str | None
    mirror: str = ""
    id: str = field(default_factory=new_id)

    @property
    def names(self) -> things.Names:
        return self.context.names(self.name)


async def make(filling: Filling) -> None:
    """The empty workspace and the fetch helper's container, not started."""
    context, limits = filling.context, filling.limits
    clean_bytes = max(limits.workspace_bytes // CLEAN_SHARE, CLEAN_BYTES_MIN)
    sizes = (limits.workspace_bytes, limits.workspace_inodes, clean_bytes, CLEAN_INODES)
    await volumes(
        context, filling.name, await store(context, filling.name, "make", filling.name, *map(str, sizes), filling.id)
    )


async def volumes(context: Context, name: str, devices: dict[str, str]) -> None:
    """The engine's names for the two devices."""
    async with asyncio.TaskGroup() as group:
        for role in LOOP_ROLES:
            volume = things.loop_volume(context.names(name), role, str(devices[role]))
            group.create_task(context.engine.make_volume(volume), name=f"volume {role}")


async def attached(context: Context, name: str) -> None:
    """The workspace can be mounted by its volumes' names. After another boot its devices have other numbers, and the
    old ones may be somebody else's: the volumes are made anew. No container of the sandbox is left, or this raises.

    Raises ``HelperFailed`` where the images are gone.
    """
    state = context.state(name)
    workspace = await context.disk.run(state.workspace)
    if workspace is None or (workspace.boot and workspace.boot == boot_id()):
        return
    devices = await store(context, name, "attach", name)
    for role in LOOP_ROLES:
        await context.engine.remove_volume(context.names(name).of(role))
    await volumes(context, name, devices)
    now = workspace.model_copy(update={"boot": boot_id()})
    await context.disk.run(lambda: state.set_workspace(now))


async def create_helper(filling: Filling) -> None:
    await filling.context.engine.create(_fetch_plan(filling))


async def fetch(filling: Filling) -> tuple[Workspace, str]:
    """Run the helper that has been created: the filled workspace, and git's words.

    The helper waits inside for its socket. Raises ``PrepareFailed`` with git's words, free of the credential.
    """
    seconds = filling.limits.fetch_seconds + FETCH_GRACE_SECONDS
    try:
        ran = await run_created(filling.context, _fetch_plan(filling), seconds=seconds, most_bytes=FETCH_BYTES)
        answer = json_object(ran)
    except HelperFailed as error:
        raise PrepareFailed(Reason.FETCH_FAILED, f"The repository could not be fetched: {error}.") from error
    if ran.exit_code != 0:
        raise PrepareFailed(Reason.FETCH_FAILED, fetch_words(answer, filling.secrets))
    report = answer.get("mirror") if filling.mirror else None
    if report:
        size, stale = int(report["bytes"]), bool(report["stale"])
        await filling.context.kept.note(filling.context, filling.mirror, size=size, stale=stale)
    made = Workspace(
        base_commit=str(answer["base_commit"]),
        branch=str(answer["branch"]),
        id=filling.id,
        boot=boot_id(),
        source=filling.source,
        limits=filling.limits,
        mirror=filling.mirror if report else "",
        instructions=_told(answer) if filling.source.instructions else None,
        left_out=tuple(map(str, answer.get("left_out") or ())),
    )
    return made, _without(str(answer.get("stderr") or ""), filling.secrets)[-WORDS_CHARACTERS:]


def _told(answer: Mapping[str, Any]) -> dict[str, bytes]:
    """What the helper read of the commit whose instructions count. Without it there would be none to keep out others,
    so what is not as it should be ends the preparation."""
    try:
        return {str(name): base64.b64decode(data, validate=True) for name, data in answer["told"].items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PrepareFailed(Reason.FETCH_FAILED, "The instructions for the agent could not be read.") from error


def fetch_words(answer: dict[str, object], given: Secrets) -> str:
    """Why a fetch failed, for the user."""
    if answer.get("unfit"):
        return _without(f"{answer.get('error')}."[:WORDS_CHARACTERS], given)
    sentence, git = str(answer.get("error") or ""), str(answer.get("stderr") or "").strip()
    words = "\n".join(part for part in (sentence, git if git not in sentence else "") if part)
    return f"The repository could not be fetched: {_without(words, given)[-WORDS_CHARACTERS:] or 'no reason was given'}"


def _without(words: str, given: Secrets) -> str:
    # the credential never gets there; should it ever be echoed by a host, it ends here
    if given.fetch_token is not None and (token := given.fetch_token.get_secret_value()):
        return words.replace(token, "***")
    return words


def _fetch_plan(filling: Filling) -> Plan:
    context = filling.context
    return plan.fetch(filling.names, context.ground, context.images.base, filling.limits, mirror=filling.mirror)
