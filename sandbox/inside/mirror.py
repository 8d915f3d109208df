"""The mirror of one repository: all of its history, kept on the Docker host, so that its next task starts at once.

A volume for each repository. The fetch helper alone writes to it; agent and extractor see it read-only and find the
objects through Git's alternates, so nothing in it may ever be moved or removed while anybody has it mounted: packs
are only added, nothing is repacked, and one that is found wanting is left where it is and made anew beside it.

    lock/         who holds it (flock) refreshes; of a group that no agent is in
    data/git      the first generation, a bare repository; data/git-2 and so on where an earlier one was of no use
    data/skip     there where the repository is too large for a mirror, with the time until which that holds

The host is asked each time, with the task's own token, for what it serves now: a host that refuses is not asked about
what is here. Whatever goes wrong here, the repository is fetched without a mirror, and that attempt's words count.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from sandbox.inside import generation
from sandbox.inside.bounds import Deadline, Failed
from sandbox.inside.gitcmd import Git, GitFailed, TooSlow
from sandbox.inside.mirrorlock import held

MOST_GENERATIONS = 3  # each as large as the repository; the volume goes when nothing uses it any more
# One file of the helper may be 2 GiB (hardening.FSIZE_BYTES), its index a fraction of that; the rest is for the host.
ROOM_BYTES = 3 * 2**30
SHARE = 0.6  # of the time for the whole fetch: what is left is enough for one commit without the mirror
LOCK_SHARE = 0.2
LOCK_SECONDS = 60.0  # a first fetch that takes longer than this is not waited for
SKIP_SECONDS = 86_400  # a repository that was too large is tried again the next day
MANY_PACKS = 50  # Git's own gc.autoPackLimit: look-ups get slower from here on
MANY_LOOSE = 10_000
# Said by Git where a bound of ours, and nothing in the mirror, was in the way.
TOO_LARGE = ("No space left on device", "File too large", "signal 25", "Disk quota exceeded")
# Said where the connection broke: it says nothing of what is in the mirror.
PASSING = ("RPC failed", "early EOF", "unexpected disconnect", "Could not resolve", "Failed to connect", "error: 5")


class Without(Exception):
    """There is no mirror for this task; ``str()`` says why."""


@dataclass(frozen=True)
class Place:
    """The mounted volume. ``repository``: the git host's address and OWNER/REPO, which it must be the mirror of."""

    root: Path
    repository: str

    @property
    def data(self) -> Path:
        return self.root / "data"


@dataclass(frozen=True)
class Asked:
    """What the task wants of the repository: ``commit`` wins over ``ref``; neither: the host's HEAD."""

    url: str
    ref: str | None
    commit: str | None


@dataclass(frozen=True)
class Found:
    """What came: where the objects are, the commit, and the branch that the host's HEAD is on (empty: detached)."""

    folder: Path
    base: str
    head_branch: str
    words: str


def refreshed(place: Place, asked: Asked, deadline: Deadline, flags: tuple[str, ...]) -> Found:
    """Ask the host and bring the mirror up to date. Raises ``Without``, ``GitFailed`` or ``Failed``.

    Two at the same time wait for each other, for a bounded time. Safe to be killed at any moment: what a killed one
    left is removed, or found to be half-made, by the next.
    """
    if not place.data.is_dir():
        raise Without("its volume has not been prepared")
    with held(place.root / "lock", min(LOCK_SECONDS, deadline.left() * LOCK_SHARE)) as mine:
        if not mine:
            raise Without("another task is refreshing it")
        _check_room(place)
        bounded = Deadline.after(deadline.left() * SHARE)
        remote = generation.advertised(_git(bounded, flags), asked.url, asked.ref)
        return _fetched(place, asked, remote, bounded, flags)


def _fetched(
    place: Place, asked: Asked, remote: generation.Remote, deadline: Deadline, flags: tuple[str, ...]
) -> Found:
    wanted = asked.commit or remote.full_name(asked.ref)
    folder = _current(place, remote)
    if not asked.commit and generation.has(folder, remote, wanted, deadline):
        # The host has just told this task, by its own token, what is here already.
        return Found(folder, generation.commit(folder, remote.value(wanted), deadline), remote.head_branch, "")
    words = generation.fetch(folder, asked.url, wanted, deadline, flags)
    if not generation.is_the_same_history(folder, remote, deadline):
        # Rewritten as a whole, or another repository under the same name: its objects are none of this task's business.
        generation.close(folder)
        folder = _new(place, remote)
        words = generation.fetch(folder, asked.url, wanted, deadline, flags)
    base = generation.commit(folder, generation.BASE, deadline)
    generation.seal(folder, place.repository, remote)
    return Found(folder, base, remote.head_branch, words)


def _git(deadline: Deadline, flags: tuple[str, ...]) -> Git:
    return Git(deadline, extra={"GIT_ALLOW_PROTOCOL": "http"}, flags=flags)


def _current(place: Place, remote: generation.Remote) -> Path:
    """The newest generation where it is sound, else a new one."""
    existing = generations(place)
    if existing and generation.is_sound(existing[-1], place.repository, remote):
        generation.tidy(existing[-1])
        return existing[-1]
    return _new(place, remote)


def _new(place: Place, remote: generation.Remote) -> Path:
    for folder in generations(place):
        if not generation.was_complete(folder):  # nobody has ever been given it
            shutil.rmtree(folder)
    existing = generations(place)
    if len(existing) >= MOST_GENERATIONS:
        raise Without("it has been made anew too often while it was in use")
    number = _number(existing[-1]) + 1 if existing else 1
    folder = place.data / ("git" if number == 1 else f"git-{number}")
    generation.create(folder, remote)
    return folder


def generations(place: Place) -> list[Path]:
    """All of them, the oldest first."""
    return sorted((path for path in place.data.glob("git*") if path.is_dir()), key=_number)


def _number(folder: Path) -> int:
    digits = folder.name.removeprefix("git").removeprefix("-")
    return int(digits) if digits.isdecimal() else 1


def _check_room(place: Place) -> None:
    disk = os.statvfs(place.data)
    if disk.f_bavail * disk.f_frsize < ROOM_BYTES:
        raise Without("there is too little room on the host's disk")
    try:
        until = float((place.data / "skip").read_text()[:64])
    except (OSError, ValueError):
        return
    if time.time() < until:
        raise Without("the repository was too large for it")


def failed(place: Place, error: Exception) -> None:
    """The mirror could not be used, and the repository came without it: remember what follows from that."""
    words = error.words if isinstance(error, GitFailed) else str(error)
    if isinstance(error, Without) or any(sign in words for sign in PASSING):
        return
    if isinstance(error, TooSlow) or any(sign in words for sign in TOO_LARGE):
        (place.data / "skip").write_text(str(time.time() + SKIP_SECONDS))
    elif existing := generations(place):
        generation.break_(existing[-1])


def report(place: Place) -> dict[str, object]:
    """For the service: what it takes on the disk, and whether it had better be made anew once nothing uses it."""
    existing = generations(place)
    sizes = [generation.measure(folder) for folder in existing]
    newest = sizes[-1] if sizes else generation.Size()
    return {
        "bytes": sum(size.bytes for size in sizes),
        "packs": newest.packs,
        "stale": len(existing) > 1 or newest.packs > MANY_PACKS or newest.loose > MANY_LOOSE,
    }


def bare_over(folder: Path, bare: Path, base: str, branch: str, git: Git) -> None:
    """A bare repository of its own whose objects are all the mirror's, with HEAD on ``base``."""
    long = ["--object-format=sha256"] if len(base) == generation.SHA256_DIGITS else []
    git.run("init", "--quiet", "--bare", "--template=", *long, str(bare))
    objects = folder / "objects"
    if "\n" in str(objects):
        raise Failed("the mirror's path cannot be written down")
    (bare / "objects" / "info").mkdir(exist_ok=True)
    (bare / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    inside = Git(git.deadline, extra={**git.extra, "GIT_DIR": str(bare)}, flags=git.flags)
    if branch:
        inside.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        inside.run("update-ref", f"refs/heads/{branch}", base)
    else:
        inside.run("update-ref", "--no-deref", "HEAD", base)
