"""What the changed files of a result hold, in one column beside the patch. Pure: values to bytes and back.

A patch alone cannot be made into a commit without a work tree; these can. They are kept apart from the outcome because
they may be many megabytes, and only publishing reads them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

from sandbox import ChangedFile, Outcome

# The middle of zlib's scale: source text shrinks to a fifth, and more effort gains little.
LEVEL = 6


def pack(files: Sequence[ChangedFile]) -> bytes | None:
    """The contents by their places in ``files``; None where no file has any."""
    if all(file.content is None for file in files):
        return None
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for number, file in enumerate(files):
            if file.content is not None:
                # a fixed time: the same result is the same bytes
                archive.writestr(zipfile.ZipInfo(str(number)), file.content, zipfile.ZIP_DEFLATED, LEVEL)
    return target.getvalue()


def unpack(files: Sequence[ChangedFile], packed: bytes | None) -> tuple[ChangedFile, ...]:
    """The files with their contents again. Raises ``ValueError`` where the column is damaged."""
    if packed is None:
        return tuple(files)
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            held = {int(name): archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise ValueError(f"the stored files are damaged: {type(error).__name__}") from error
    return tuple(
        file.model_copy(update={"content": held[number]}) if number in held else file
        for number, file in enumerate(files)
    )


def without(outcome: Outcome) -> Outcome:
    """The outcome with neither patch nor contents: what goes into its JSON."""
    if outcome.changes is None:
        return outcome
    files = tuple(file.model_copy(update={"content": None}) for file in outcome.changes.files)
    return outcome.model_copy(update={"changes": outcome.changes.model_copy(update={"patch": None, "files": files})})
