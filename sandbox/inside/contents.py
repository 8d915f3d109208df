"""What the changed files hold: the blobs that the patch describes, out of our own objects, each named anew.

With them whoever publishes the changes needs neither to apply a patch nor to read a work tree. They are as Git stores
them, so filters and line ends are those of the base's attributes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sandbox.inside.bounds import MAX_CONTENT_BYTES, Failed
from sandbox.inside.gitcmd import Git
from sandbox.inside.patch import Change

SHA256_DIGITS = 64


@dataclass(frozen=True)
class Contents:
    """``pieces``: one for each entry, in their order; None for a deleted one, and for those of ``left_out``."""

    pieces: tuple[bytes | None, ...]
    left_out: frozenset[bytes]


def take(git: Git, entries: Sequence[Change], most: int) -> Contents:
    """All that fits: ``MAX_CONTENT_BYTES`` for one file, ``most`` bytes for all. Raises ``Failed`` where Git answers
    with anything but what it was asked for."""
    ids = [entry.new_id for entry in entries if entry.new_mode]
    sizes = _sizes(git, ids)
    chosen, left_out = _chosen(entries, sizes, most)
    blobs = _blobs(git, list(dict.fromkeys(chosen.values())), sizes)
    return Contents(
        tuple(blobs[chosen[entry.path]] if entry.path in chosen else None for entry in entries), frozenset(left_out)
    )


def _chosen(entries: Iterable[Change], sizes: dict[str, int], most: int) -> tuple[dict[bytes, str], set[bytes]]:
    """Blob by path for those that are taken, and the paths of the others. After a large one a smaller may still fit."""
    chosen: dict[bytes, str] = {}
    left_out, total = set(), 0
    for entry in entries:
        if not entry.new_mode:
            continue
        size = sizes[entry.new_id]
        if size > MAX_CONTENT_BYTES or total + size > most:
            left_out.add(entry.path)
            continue
        chosen[entry.path] = entry.new_id
        total += size
    return chosen, left_out


def _sizes(git: Git, ids: Iterable[str]) -> dict[str, int]:
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    question = "".join(f"{name}\n" for name in wanted).encode()
    listing = git.run("cat-file", "--batch-check", stdin=question).out.decode("ascii", "replace")
    sizes = {}
    for name, line in zip(wanted, listing.splitlines(), strict=False):
        parts = line.split(" ")
        if len(parts) != 3 or parts[:2] != [name, "blob"] or not parts[2].isdecimal():
            raise Failed("Git does not find what it has just stored")
        sizes[name] = int(parts[2])
    if len(sizes) != len(wanted):
        raise Failed("Git does not find what it has just stored")
    return sizes


def _blobs(git: Git, ids: Sequence[str], sizes: dict[str, int]) -> dict[str, bytes]:
    """``cat-file --batch``: a line, the bytes and a newline for each."""
    if not ids:
        return {}
    heads = [f"{name} blob {sizes[name]}\n".encode() for name in ids]
    length = sum(len(head) + sizes[name] + 1 for head, name in zip(heads, ids, strict=True))
    question = "".join(f"{name}\n" for name in ids).encode()
    answer = memoryview(git.run("cat-file", "--batch", stdin=question, limit=length).out)
    blobs, at = {}, 0
    for head, name in zip(heads, ids, strict=True):
        start = at + len(head)
        at = start + sizes[name] + 1
        blob = bytes(answer[start : at - 1])
        if answer[start - len(head) : start] != head or blob_name(blob, len(name)) != name:
            raise Failed("Git gave something else than what it has just stored")
        blobs[name] = blob
    return blobs


def blob_name(data: bytes, digits: int) -> str:
    """Git's name for these bytes; ``digits`` is 40 for SHA-1, 64 for SHA-256."""
    # SHA-1 is what Git names objects with; nothing here rests on it alone.
    state = hashlib.sha256() if digits == SHA256_DIGITS else hashlib.sha1(usedforsecurity=False)
    state.update(b"blob %d\0" % len(data))
    state.update(data)
    return state.hexdigest()
