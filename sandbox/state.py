"""What is remembered of one sandbox: a few small files in a folder of its own, each written whole or not at all.

    job.json      written before anything is made: the job without its bundle
    ready.json    written when prepare is over: base commit, workspace id, and the boot they belong to
    started.json  written before the agent is started
    kill.json     written before we kill: the first reason stays
    patch         the patch's bytes, written before outcome.json
    outcome.json  the outcome without its patch

Nothing is ever edited. The containers' own state is never copied here: the engine knows it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from sandbox.job import Frozen, Job, Outcome
from sandbox.verdict import Kill

FOLDER_MODE = 0o700  # prompts and patches of private repositories are in here
FILE_MODE = 0o600

M = TypeVar("M", bound=BaseModel)


class Ready(Frozen):
    """Prepare is over. ``boot`` is the machine's boot id: loop devices have other numbers after the next boot."""

    base_commit: str
    branch: str = ""
    workspace_id: str
    boot: str


class Started(Frozen):
    """The agent was about to be started. ``at``: seconds since 1970."""

    at: float


class Killed(Frozen):
    """A kill of ours was about to be done. ``at``: seconds since 1970."""

    reason: Kill
    at: float


class StateDir:
    """The folders of all sandboxes of one service. Blocking, but never for longer than a few small files take."""

    def __init__(self, root: Path) -> None:
        self._root = root / "sandboxes"

    def names(self) -> tuple[str, ...]:
        """Every sandbox that has a folder."""
        if not self._root.is_dir():
            return ()
        return tuple(sorted(entry.name for entry in self._root.iterdir() if entry.is_dir()))

    def of(self, name: str) -> SandboxState:
        return SandboxState(self._root / name)


class SandboxState:
    """One sandbox's folder; it need not exist. Readers answer None where the file is not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def exists(self) -> bool:
        return self._folder.is_dir()

    def remove(self) -> None:
        """Remove the folder. outcome.json goes first of all: half a folder never looks like an ended task."""
        (self._folder / "outcome.json").unlink(missing_ok=True)
        if self.exists():
            shutil.rmtree(self._folder)

    def job(self) -> Job | None:
        return self._read("job.json", Job)

    def set_job(self, job: Job) -> None:
        source = job.source and job.source.model_copy(
            update={"bundle": None}
        )  # it may be large, and nobody reads it again
        self._write("job.json", job.model_copy(update={"source": source}))

    def ready(self) -> Ready | None:
        return self._read("ready.json", Ready)

    def set_ready(self, ready: Ready) -> None:
        self._write("ready.json", ready)

    def started(self) -> Started | None:
        return self._read("started.json", Started)

    def set_started(self, started: Started) -> None:
        self._write("started.json", started)

    def killed(self) -> Killed | None:
        return self._read("kill.json", Killed)

    def set_killed(self, killed: Killed) -> Killed:
        """Record the intent; where one is recorded already, that one stays. Returns the one that holds."""
        if (before := self.killed()) is not None:
            return before
        self._write("kill.json", killed)
        return killed

    def outcome(self) -> Outcome | None:
        stored = self._read("outcome.json", Outcome)
        if stored is None or stored.changes is None or not (self._folder / "patch").exists():
            return stored
        changes = stored.changes.model_copy(update={"patch": (self._folder / "patch").read_bytes()})
        return stored.model_copy(update={"changes": changes})

    def set_outcome(self, outcome: Outcome) -> None:
        changes = outcome.changes
        if changes is not None and changes.patch is not None:
            self._write_bytes("patch", changes.patch)
            changes = changes.model_copy(update={"patch": None})
        self._write("outcome.json", outcome.model_copy(update={"changes": changes}))

    def _read(self, file: str, model: type[M]) -> M | None:
        try:
            return model.model_validate_json((self._folder / file).read_bytes())
        except FileNotFoundError:
            return None

    def _write(self, file: str, value: BaseModel) -> None:
        self._write_bytes(file, value.model_dump_json(indent=1).encode() + b"\n")

    def _write_bytes(self, file: str, data: bytes) -> None:
        """All or nothing, and there after a power cut: fsync, rename, fsync of the folder."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        beside = self._folder / f".{file}.new"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
        with os.fdopen(descriptor, "wb") as target:
            target.write(data)
            target.flush()
            os.fsync(target.fileno())
        os.replace(beside, self._folder / file)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
