"""What changed in a workspace since its fetch: the extractor run over it, and its answer taken with care."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import ValidationError

from sandbox.context import Context, boot_id
from sandbox.engine import Refused
from sandbox.engines import names as things
from sandbox.engines import plan
from sandbox.helpers import HelperFailed, Ran, run, store
from sandbox.job import Changes, Limits
from sandbox.state import Workspace
from sandbox.workspace import LOOP_ROLES

EXTRACT_SECONDS = 240.0  # the extractor stops itself after 180 s
HEADER_BYTES = 16 << 20  # its JSON line: some thousand paths of 1 KiB
# Less left than this is full: a program that met the wall has often given a last piece back, and ext4 itself keeps
# back 2 % or 16 MiB, whichever is less, of which some shows as free afterwards.
FULL_SHARE = 0.04
FULL_BLOCKS = 8_192
FULL_INODES = 8


@dataclass(frozen=True)
class Taken:
    """What was read back from the work tree. ``changes`` None: ``notes`` says why."""

    changes: Changes | None
    disk_full: bool = False
    notes: tuple[str, ...] = ()


async def changes(context: Context, sandbox: str, workspace: Workspace | None, limits: Limits) -> Taken:
    """Nothing runs in the workspace any more. Safe to repeat. Raises ``Unreachable``."""
    if workspace is None:
        return Taken(None, notes=("The repository had not been fetched.",))
    try:
        return taken(await _extract(context, sandbox, workspace, limits), limits)
    except (HelperFailed, Refused) as error:
        return Taken(None, notes=(f"The changes could not be read: {error}.",))


async def _extract(context: Context, sandbox: str, workspace: Workspace, limits: Limits) -> Ran:
    """Run the extractor. After another boot the loop devices are attached anew first, under whatever numbers."""
    names = context.names(sandbox)
    ws, clean = names.of("ws"), names.of("clean")
    if not workspace.boot or workspace.boot != boot_id():
        ws, clean = await _attached_again(context, sandbox)
    if workspace.mirror and await context.engine.volume(workspace.mirror) is None:
        raise HelperFailed("the mirror of its repository, which holds its history, is gone")
    for volume in (ws, clean):  # a missing one would be made up by the engine, empty
        if await context.engine.volume(volume) is None:
            raise HelperFailed("the workspace is gone")
    what = plan.extract(names, context.ground, context.images.base, limits, ws, clean, mirror=workspace.mirror)
    return await run(context, what, seconds=EXTRACT_SECONDS, most_bytes=limits.patch_bytes + HEADER_BYTES)


async def _attached_again(context: Context, sandbox: str) -> tuple[str, str]:
    """Volumes of their own over the re-attached devices: the old ones name devices that may be somebody else's, and
    the ended agent's container, whose log is still to be read, keeps them."""
    names = context.names(sandbox)
    devices = await store(context, sandbox, "attach", sandbox)
    made = []
    for role in LOOP_ROLES:
        device = str(devices[role])
        volume = things.loop_volume(names, f"{role}-{device.rpartition('/')[2]}", device)
        await context.engine.make_volume(volume)
        made.append(volume.name)
    return made[0], made[1]


def taken(ran: Ran, limits: Limits) -> Taken:
    """The extractor's answer. Raises ``HelperFailed`` for one that is cut, too long, or makes no sense."""
    line, _, rest = ran.stdout.partition(b"\n")
    full = _full(ran.stderr)
    try:
        header = json.loads(line)
        if ran.exit_code != 0:
            raise HelperFailed(str(header.get("error") or f"exit status {ran.exit_code}"))
        length = header.pop("patch_length")
        refused = bool(header.get("refusal"))
        if length != len(rest) or length > limits.patch_bytes:
            raise HelperFailed("its answer was cut short")
        found = Changes.model_validate({**header, "patch": None if refused else b""})
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise HelperFailed(f"the extractor's answer makes no sense ({type(error).__name__})") from error
    return Taken(found if refused else found.model_copy(update={"patch": rest}), full)


def _full(stderr: bytes) -> bool:
    """The first line is `stat -f` of the workspace: blocks free and in all, inodes free (plan.extract)."""
    words = stderr.partition(b"\n")[0].split()
    if len(words) != 3 or not all(word.isdigit() for word in words):
        return False
    free, total, inodes = map(int, words)
    return free < min(FULL_BLOCKS, total * FULL_SHARE) or inodes < FULL_INODES
