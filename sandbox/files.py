"""Small state files: each is there whole or not at all, also after a power cut. Blocking."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

FOLDER_MODE = 0o700  # prompts and patches of private repositories are in here
FILE_MODE = 0o600

M = TypeVar("M", bound=BaseModel)


def read(path: Path, model: type[M]) -> M | None:
    """None where the file is not there."""
    try:
        return model.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def write(path: Path, value: BaseModel) -> None:
    write_bytes(path, value.model_dump_json(indent=1).encode() + b"\n")


def write_bytes(path: Path, *parts: bytes) -> None:
    """One after the other; fsync, rename, fsync of the folder, which must be there. Of several at once the last counts:
    each writes a file of its own first."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.writelines(parts)
            target.flush()
            os.fsync(target.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """With what is above it, for us alone; fine where it is there."""
    for missing in [*reversed(path.parents), path]:
        if not missing.is_dir():
            missing.mkdir(mode=FOLDER_MODE, exist_ok=True)
            sync_folder(missing.parent)


def sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_folder(path: Path) -> None:
    """Fine where it is gone, or goes meanwhile."""
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        shutil.rmtree(path)


def lock(path: Path) -> int | None:
    """A descriptor that holds the file's lock until it is closed, or the process ends however it does; the file is made
    where its folder is there. None where somebody else holds it, or where it cannot be made."""
    try:
        held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held
