"""A patch as it is shown in a comment: whole files as long as they fit, the rest by name. Pure.

What is shown is for reading. The patch itself stays in the database, byte for byte, and whatever this view leaves out
or writes differently is counted, so that the comment can say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot import inert
from bot.inert import Block, Untrusted

# Within a hunk every line starts with a blank, `+`, `-` or `\\`, so at a line's start this is always a file's border.
_BORDER = re.compile(rb"^diff --git ", re.MULTILINE)

_BINARY = re.compile(rb"^GIT binary patch\n(?s:.*)", re.MULTILINE)

# What a line of a diff may start with. No other can come from git; if one does, it shall not look like a command.
_DIFF_LINE = re.compile(
    rb"[ +\-\n]|\\ |@@ |diff --git |index |(?:old|new|deleted|new file|deleted file) mode |(?:dis)?similarity index "
    rb"|(?:rename|copy) (?:from|to) |Binary files |\(binary "
)


@dataclass(frozen=True)
class ShownDiff:
    """The diff as Markdown, with all that a reader must know about how it differs from the patch."""

    block: Block
    left_out: tuple[Untrusted, ...]
    """Names of the files that are not in it, in order."""
    files: int
    """In the patch."""
    binary: int
    """Files of which only the fact is shown."""


def show(patch: bytes, room: int) -> ShownDiff:
    """``patch``, which is what git printed, as one fenced block of at most ``room`` units."""
    pieces = list(_files(patch))
    block = inert.block((Untrusted(_readable(piece, room)) for piece in pieces), "diff", room)
    taken = set(block.taken)
    return ShownDiff(
        block=block,
        left_out=tuple(_name(piece) for index, piece in enumerate(pieces) if index not in taken),
        files=len(pieces),
        binary=sum(bool(_BINARY.search(piece)) for index, piece in enumerate(pieces) if index in taken),
    )


def _files(patch: bytes) -> Iterator[bytes]:
    starts = [match.start() for match in _BORDER.finditer(patch)]
    if not starts:
        if patch:
            yield patch
        return
    for start, end in zip(starts, [*starts[1:], len(patch)], strict=True):
        yield patch[start:end]


def _readable(piece: bytes, room: int) -> bytes:
    """Without binary data, and with every line starting as a diff's lines do. Too long for ``room`` comes out so."""
    text = _BINARY.sub(b"(binary content, not shown)\n", piece)
    if len(text) > room * 4:  # no character has more than four bytes: it cannot fit, and need not be looked at
        return b" " * (room + 1)
    lines = re.findall(rb"[^\n]*\n|[^\n]+", text)
    return b"".join(line if _DIFF_LINE.match(line) else b"> " + line for line in lines)


def _name(piece: bytes) -> Untrusted:
    """From the header: ``a/PATH b/PATH``, halved where the two are the same path, as they are but for renames."""
    header = piece.split(b"\n", 1)[0].removeprefix(b"diff --git ")
    half = len(header) // 2
    old, new = header[:half], header[half + 1 :]
    if old[:1] == b'"':
        same = old[:3] == b'"a/' and new[:3] == b'"b/' and old[3:] == new[3:]
        return Untrusted(b'"' + new[3:] if same else header)
    return Untrusted(new[2:] if old[2:] == new[2:] else header)
