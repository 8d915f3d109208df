"""What is remembered of one sandbox: a few small files in a folder of its own, each written whole or not at all.

What belongs to the workspace, which outlives its tasks:

    filling.json    written before anything of a workspace is made: what it is to be filled from
    workspace.json  written when it is filled: base commit, id, and the boot that its loop devices belong to
    snapshot.json   which saved copy of it counts; written when that is whole
    used.json       when something was last done here

A folder for every task, ``tasks/000001`` and so on. The newest is the present one; a few older ones are kept. It
appears whole, with its job, and only one of two that begin at once makes it:

    job.json        the job without its bundle and attachments, written before anything is made for it
    driven.json     there where the service itself drives the task to its outcome
    notes.json      what went wrong in the preparation without ending it
    ready.json      written when the agent's container and its way out are made
    started.json    written before the agent is started
    kill.json       written before we kill: the first reason stays
    patch           the patch's bytes, written before outcome.json
    contents        what the changed files hold, one after the other
    contents.json   how long each of them is, written when they are there and before outcome.json
    outcome.json    the outcome without its patch and without those

Nothing is ever edited in place. The containers' own state is never copied here: the engine knows it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox import files
from sandbox.job import ChangedFile, Changes, Frozen, Job, Limits, Outcome, Source
from sandbox.verdict import Kill

KEPT_TASKS = 5  # of one sandbox, the present one included: each may hold a patch of 16 MiB and contents of 32 MiB
DIGITS = 6


class Filling(Frozen):
    """A workspace was about to be made. ``origin``: the sandbox whose snapshot it is a copy of."""

    source: Source | None = None
    origin: str = ""


class Workspace(Frozen):
    """The workspace is filled. ``boot`` is the machine's boot id: loop devices have other numbers after the next."""

    base_commit: str
    branch: str = ""
    id: str
    boot: str
    source: Source | None = None
    """Without its bundle."""
    limits: Limits = Limits()
    """Under which it was made: its size is one of them."""
    mirror: str = ""
    """The volume that holds objects of its history; empty where all of them are in the workspace."""
    instructions: Mapping[str, bytes] | None = None
    """Copies of another commit's instruction files, by their paths, which agents read instead of those of the checkout;
    None: they read the checkout's."""
    left_out: tuple[str, ...] = ()
    """Of those, the paths of which there is no copy."""


class Saved(Frozen):
    """A snapshot that is whole. ``digests``: SHA-256 of each image by role, as the store helper counts it."""

    id: str
    size: int
    digests: Mapping[str, str]
    workspace: Workspace


class Used(Frozen):
    """Something was done here. ``at``: seconds since 1970."""

    at: float


class Driven(Frozen):
    """The service drives the task by itself."""


class Ready(Frozen):
    """Everything for the agent is made. Containers of an earlier boot have no way out any more."""

    boot: str


class Notes(Frozen):
    """Sentences about the preparation that belong in the outcome."""

    notes: tuple[str, ...] = ()


class Lengths(Frozen):
    """Of what the changed files hold, in their order; None for one of which nothing is kept."""

    lengths: tuple[int | None, ...]


class Started(Frozen):
    """The agent was about to be started. ``at``: seconds since 1970."""

    at: float


class Killed(Frozen):
    """A kill of ours was about to be done. ``at``: seconds since 1970."""

    reason: Kill
    at: float
    words: str = ""
    """For the user, where the reason alone does not say it."""


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

    def remove(self, *, keep_snapshot: bool = False) -> None:
        """Remove the folder. No half of it ever looks like a workspace, or like an ended task."""
        if not self.exists():
            return
        (self._folder / "workspace.json").unlink(missing_ok=True)
        self._drop(self._folder / "tasks")
        if keep_snapshot and self.snapshot() is not None:
            for file in ("filling.json", "used.json"):
                (self._folder / file).unlink(missing_ok=True)
        else:
            files.remove_folder(self._folder)

    def filling(self) -> Filling | None:
        return files.read(self._folder / "filling.json", Filling)

    def set_filling(self, filling: Filling) -> None:
        files.make_folder(self._folder)
        files.write(self._folder / "filling.json", filling.model_copy(update={"source": _bare(filling.source)}))

    def workspace(self) -> Workspace | None:
        return files.read(self._folder / "workspace.json", Workspace)

    def set_workspace(self, workspace: Workspace) -> None:
        files.make_folder(self._folder)
        files.write(self._folder / "workspace.json", workspace.model_copy(update={"source": _bare(workspace.source)}))

    def snapshot(self) -> Saved | None:
        return files.read(self._folder / "snapshot.json", Saved)

    def set_snapshot(self, saved: Saved) -> None:
        files.write(self._folder / "snapshot.json", saved)

    def used(self) -> Used | None:
        return files.read(self._folder / "used.json", Used)

    def set_used(self, used: Used) -> None:
        """Also for what is on the engine alone: it then has a folder from now on."""
        files.make_folder(self._folder)
        files.write(self._folder / "used.json", used)

    def task(self) -> TaskState:
        """The present task; where there is none, every reader of it answers None."""
        numbers = self._numbers()
        return TaskState(self._folder / "tasks" / f"{numbers[-1] if numbers else 1:0{DIGITS}}")

    def new_task(self, job: Job, *, driven: bool = False) -> TaskState:
        """The next task, which is the present one from now on.

        Raises ``FileExistsError`` where somebody else has begun one since the caller looked.
        """
        numbers = self._numbers()
        place = self._folder / "tasks" / f"{numbers[-1] + 1 if numbers else 1:0{DIGITS}}"
        draft = place.with_name(f".{secrets.token_hex(4)}.new")
        files.make_folder(draft)
        files.write(draft / "job.json", job.model_copy(update={"source": _bare(job.source), "attachments": ()}))
        if driven:
            files.write(draft / "driven.json", Driven())
        try:
            os.rename(draft, place)  # onto a folder with anything in it: refused
        except OSError as error:
            files.remove_folder(draft)
            raise FileExistsError(f"another task has begun: {place.name}") from error
        files.sync_folder(place.parent)
        for old in numbers[: -(KEPT_TASKS - 1)]:
            self._drop(place.with_name(f"{old:0{DIGITS}}"))
        return TaskState(place)

    def drop_task(self) -> None:
        """The present task was never begun."""
        self._drop(self._folder / "tasks" / self.task().name)

    def _numbers(self) -> list[int]:
        folder = self._folder / "tasks"
        if not folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal())

    def _drop(self, folder: Path) -> None:
        """Out of sight at once, then away."""
        if folder.is_dir():
            gone = folder.with_name(f".{secrets.token_hex(4)}.gone")
            os.rename(folder, gone)
            files.remove_folder(gone)


class TaskState:
    """One task's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        return self._folder.name

    def job(self) -> Job | None:
        return files.read(self._folder / "job.json", Job)

    def driven(self) -> bool:
        return (self._folder / "driven.json").exists()

    def claim(self) -> int | None:
        """Whoever holds this drives the task (``files.lock``)."""
        return files.lock(self._folder / "driven.json")

    def ready(self) -> Ready | None:
        return files.read(self._folder / "ready.json", Ready)

    def set_ready(self, ready: Ready) -> None:
        files.write(self._folder / "ready.json", ready)

    def notes(self) -> tuple[str, ...]:
        found = files.read(self._folder / "notes.json", Notes)
        return found.notes if found is not None else ()

    def set_notes(self, *notes: str) -> None:
        files.write(self._folder / "notes.json", Notes(notes=notes))

    def started(self) -> Started | None:
        return files.read(self._folder / "started.json", Started)

    def set_started(self, started: Started) -> None:
        files.write(self._folder / "started.json", started)

    def killed(self) -> Killed | None:
        return files.read(self._folder / "kill.json", Killed)

    def set_killed(self, killed: Killed) -> Killed:
        """Record the intent; where one is recorded already, that one stays. Returns the one that holds.

        Where there is no task (any more), nothing is recorded: there is nothing to kill.
        """
        if (before := self.killed()) is not None:
            return before
        try:
            files.write(self._folder / "kill.json", killed)
        except FileNotFoundError:
            if self._folder.is_dir():
                raise
        return killed

    def outcome(self) -> Outcome | None:
        stored = files.read(self._folder / "outcome.json", Outcome)
        if stored is None or stored.changes is None or not (self._folder / "patch").exists():
            return stored
        patch = (self._folder / "patch").read_bytes()
        changes = stored.changes.model_copy(update={"patch": patch, "files": self._with_contents(stored.changes)})
        return stored.model_copy(update={"changes": changes})

    def ended(self) -> bool:
        """As ``outcome``, without reading it."""
        return (self._folder / "outcome.json").exists()

    def set_outcome(self, outcome: Outcome) -> None:
        changes = outcome.changes
        if changes is not None and changes.patch is not None:
            files.write_bytes(self._folder / "patch", changes.patch)
            self._set_contents([file.content for file in changes.files])
            bare = tuple(file.model_copy(update={"content": None}) for file in changes.files)
            changes = changes.model_copy(update={"patch": None, "files": bare})
        files.write(self._folder / "outcome.json", outcome.model_copy(update={"changes": changes}))

    def _set_contents(self, contents: Sequence[bytes | None]) -> None:
        files.write_bytes(self._folder / "contents", *(content for content in contents if content is not None))
        lengths = tuple(None if content is None else len(content) for content in contents)
        files.write(self._folder / "contents.json", Lengths(lengths=lengths))

    def _with_contents(self, changes: Changes) -> tuple[ChangedFile, ...]:
        """Each file whole, or none of them: of what is not as it was written nothing is given out."""
        known = files.read(self._folder / "contents.json", Lengths)
        if known is None or len(known.lengths) != len(changes.files):
            return changes.files
        found: list[ChangedFile] = []
        with (self._folder / "contents").open("rb") as source:
            for file, length in zip(changes.files, known.lengths, strict=True):
                content = None if length is None else source.read(length)
                if content is not None and len(content) != length:
                    return changes.files
                found.append(file.model_copy(update={"content": content}))
        return tuple(found)


def _bare(source: Source | None) -> Source | None:
    """A bundle and a patch may be large, and nobody reads them again."""
    return source and source.model_copy(update={"bundle": None, "patch": None})
