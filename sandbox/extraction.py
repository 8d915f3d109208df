"""What changed in a workspace since its fetch: the extractor run over it, and its answer taken with care."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from sandbox.context import Context, boot_id
from sandbox.engine import Refused
from sandbox.engines import names as things
from sandbox.engines import plan
from sandbox.helpers import HelperFailed, Ran, run, store
from sandbox.job import ChangedFile, Changes, Limits
from sandbox.state import Workspace
from sandbox.workspace import LOOP_ROLES

EXTRACT_SECONDS = 240.0  # the extractor stops itself after 180 s
HEADER_BYTES = 40 << 20  # its JSON line: five thousand paths of 1 KiB, each byte escaped, and once more in base64
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
    most = limits.patch_bytes + limits.content_bytes + HEADER_BYTES
    return await run(context, what, seconds=EXTRACT_SECONDS, most_bytes=most)


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
    end = ran.stdout.find(b"\n")
    line, rest = ran.stdout[: max(end, 0)], memoryview(ran.stdout)[end + 1 :]
    try:
        header = json.loads(line)
        if ran.exit_code != 0:
            raise HelperFailed(str(header.get("error") or f"exit status {ran.exit_code}"))
        return Taken(_changes(header, rest, limits), _full(ran.stderr))
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise HelperFailed(f"the extractor's answer makes no sense ({type(error).__name__})") from error


def _changes(header: dict[str, Any], rest: memoryview, limits: Limits) -> Changes:
    """The header's values with the bytes that follow it: the patch, then what the files hold, in their order."""
    patch_length, files = _length(header.pop("patch_length")), header.pop("files")
    lengths = [entry.pop("content_length") for entry in files]
    held = sum(_length(length) for length in lengths if length is not None)
    whole = patch_length + held == len(rest)
    if not whole or patch_length > limits.patch_bytes or held > limits.content_bytes:
        raise HelperFailed("its answer was cut short")
    refused = bool(header.get("refusal"))
    if refused and (patch_length or files):
        raise ValueError("a refusal with something in it")
    taken_over, at = [], patch_length
    for entry, length in zip(files, lengths, strict=True):
        taken_over.append(_file(entry, None if length is None else bytes(rest[at : at + length])))
        at += length or 0
    patch = None if refused else bytes(rest[:patch_length])
    return Changes.model_validate({**header, "files": taken_over, "patch": patch})


def _file(entry: dict[str, Any], content: bytes | None) -> ChangedFile:
    raw_path = base64.b64decode(entry.pop("raw_path"), validate=True)
    found = ChangedFile.model_validate({**entry, "raw_path": raw_path, "content": content})
    if not raw_path or (content is not None and not found.new_mode):
        raise ValueError("a file without a name, or a deleted one with something in it")
    return found


def _length(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("no length")
    return value


def _full(stderr: bytes) -> bool:
    """The first line is `stat -f` of the workspace: blocks free and in all, inodes free (plan.extract)."""
    words = stderr.partition(b"\n")[0].split()
    if len(words) != 3 or not all(word.isdigit() for word in words):
        return False
    free, total, inodes = map(int, words)
    return free < min(FULL_BLOCKS, total * FULL_SHARE) or inodes < FULL_INODES
