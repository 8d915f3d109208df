"""One generation of a mirror: a bare repository that only ever grows, and the record that says it is whole.

``gofer.json`` is written after each complete fetch: whose mirror it is, the tip of the host's HEAD, and the size of
every pack. Without it the generation has never been complete, and nobody has been given it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.inside.bounds import Deadline, Failed
from sandbox.inside.gitcmd import Git, GitFailed, TooSlow

SHA256_DIGITS = 64
RECORD = "gofer.json"
BROKEN = "gofer.broken"
BASE = "refs/gofer/base"
MAX_RECORD_BYTES = 4 * 2**20  # some ten thousand packs
# All that a repository of ours says about itself; one that says anything else was not made here.
CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = true\n{more}"
OBJECT_FORMAT = "[extensions]\n\tobjectformat = sha256\n"
EVERYTHING = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
# What a killed git leaves.
LEFT = ("tmp_*", ".tmp-*", "incoming-*", "tmp_objdir-*")


@dataclass(frozen=True)
class Remote:
    """What the host says that it has: the tip and the branch of its HEAD, and which of the names asked for it knows."""

    head: str
    head_branch: str
    names: dict[str, str]

    @property
    def long(self) -> bool:
        """Its objects are named by SHA-256."""
        return any(len(name) == SHA256_DIGITS for name in (self.head, *self.names.values()))

    def full_name(self, ref: str | None) -> str:
        """The ref to fetch. Raises ``GitFailed`` in the words of ``git clone`` where the host does not have it."""
        if ref is None:
            if not self.head:
                raise Failed("the repository is empty, or its default branch is not there: no commit to start from")
            return "HEAD"
        for name in (ref,) if ref.startswith("refs/") else (f"refs/heads/{ref}", f"refs/tags/{ref}"):
            if name in self.names:
                return name
        raise GitFailed("fetch", 128, f"fatal: Remote branch {ref} not found in upstream origin")

    def value(self, name: str) -> str:
        """What the host says that ``HEAD``, or a ref that was asked for, is at."""
        return self.head if name == "HEAD" else self.names.get(name, "")


@dataclass(frozen=True)
class Size:
    """What a generation is made of."""

    bytes: int = 0
    packs: int = 0
    loose: int = 0


def advertised(git: Git, url: str, ref: str | None) -> Remote:
    """Ask the host. Raises ``GitFailed`` with its refusal."""
    names = () if ref is None else (ref,) if ref.startswith("refs/") else (f"refs/heads/{ref}", f"refs/tags/{ref}")
    listing = git.run("ls-remote", "--symref", "--end-of-options", url, "HEAD", *names).out.decode("utf-8", "replace")
    head = branch = ""
    known: dict[str, str] = {}
    for line in listing.splitlines():
        value, _, name = line.partition("\t")
        if name == "HEAD" and value.startswith("ref: "):
            branch = value.removeprefix("ref: ").removeprefix("refs/heads/")
        elif name == "HEAD":
            head = value
        elif name in names:
            known[name] = value
    return Remote(head, branch if head else "", known)


def create(folder: Path, remote: Remote) -> None:
    """An empty one. Every file of it is ours."""
    for inner in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (folder / inner).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "config").write_text(_config(remote))


def _config(remote: Remote) -> str:
    return CONFIG.format(version=int(remote.long), more=OBJECT_FORMAT if remote.long else "")


def fetch(folder: Path, url: str, wanted: str, deadline: Deadline, flags: tuple[str, ...]) -> str:
    """Everything, and the one thing wanted; what the host has no more goes from the refs, never from the objects."""
    git = Git(deadline, extra={"GIT_ALLOW_PROTOCOL": "http", "GIT_DIR": str(folder)}, flags=flags)
    args = ("fetch", "--prune", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-gc")
    words = git.run(*args, "--end-of-options", url, *EVERYTHING, f"+{wanted}:{BASE}").words
    git.run("pack-refs", "--all")  # a thousand branches are a thousand files otherwise
    return words


def has(folder: Path, remote: Remote, wanted: str, deadline: Deadline) -> bool:
    """Whether a branch or tag is here as the host has it now. (A ref is written only after all that it leads to; an
    object alone may be what a killed fetch left.)"""
    name = f"refs/heads/{remote.head_branch}" if wanted == "HEAD" else wanted
    value = remote.value(wanted)
    if not value or not name.startswith(("refs/heads/", "refs/tags/")):
        return False
    git = Git(deadline, extra={"GIT_DIR": str(folder)})
    listing = git.run("for-each-ref", "--format=%(refname) %(objectname)", name).out.decode("utf-8", "replace")
    return f"{name} {value}" in listing.splitlines()


def commit(folder: Path, revision: str, deadline: Deadline) -> str:
    """The commit that a ref or an object id of the host's leads to."""
    git = Git(deadline, extra={"GIT_DIR": str(folder)})
    return git.run("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").out.decode().strip()


def is_the_same_history(folder: Path, remote: Remote, deadline: Deadline) -> bool:
    """Whether the host's HEAD has anything in common with what it was on when this generation was last complete."""
    before = str((_record(folder) or {}).get("head") or "")
    if not before or not remote.head or before == remote.head:
        return True
    git = Git(deadline, extra={"GIT_DIR": str(folder)})
    try:
        git.run("merge-base", before, remote.head)
    except TooSlow:
        raise
    except GitFailed as error:
        if error.code == 1:
            return False
        raise
    return True


def seal(folder: Path, repository: str, remote: Remote) -> None:
    """It is whole now. Whole or not at all, and there after a power cut."""
    record = {"repository": repository, "head": remote.head, "packs": dict(_packs(folder))}
    beside = folder / f".{RECORD}.new"
    with beside.open("w") as out:
        json.dump(record, out)
        out.flush()
        os.fsync(out.fileno())
    os.replace(beside, folder / RECORD)


def was_complete(folder: Path) -> bool:
    return (folder / RECORD).exists()


def break_(folder: Path) -> None:
    """Never to be used for another task. (What it takes is noted, for it may not be readable from now on.)"""
    (folder / BROKEN).write_text(str(measure(folder).bytes))


def close(folder: Path) -> None:
    """Never to be read by another task's agent either, which has the same volume mounted: what was there belongs to
    another history. An agent's uid owns the files, but its mount is read-only, so the mode stays. An extractor of an
    older task still reads them."""
    break_(folder)
    for name in ("objects", "refs", "packed-refs"):
        if (folder / name).exists():
            (folder / name).chmod(0)


def is_sound(folder: Path, repository: str, remote: Remote) -> bool:
    """Whether it may be added to: complete, of this very repository and its object format, every pack as it was."""
    record = _record(folder)
    if record is None or record.get("repository") != repository or (folder / BROKEN).exists():
        return False
    info = folder / "objects" / "info"
    if any(path.exists() for path in (info / "alternates", info / "http-alternates", folder / "shallow")):
        return False
    try:
        if (folder / "config").read_text() != _config(remote):
            return False
        now, before = dict(_packs(folder)), record.get("packs")
        if not isinstance(before, dict) or any(now.get(name) != size for name, size in before.items()):
            return False
        digest = 32 if remote.long else 20
        return all(_ends_as_its_index_says(folder / "objects" / "pack" / name, digest) for name in now)
    except OSError:
        return False


def _record(folder: Path) -> dict[str, object] | None:
    try:
        with (folder / RECORD).open("rb") as source:
            record = json.loads(source.read(MAX_RECORD_BYTES))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _packs(folder: Path) -> Iterator[tuple[str, int]]:
    for path in sorted((folder / "objects" / "pack").glob("*.pack")):
        yield path.name, path.stat().st_size


def _ends_as_its_index_says(pack: Path, digest: int) -> bool:
    """A pack ends with its own checksum, and its index with that one and its own: one that was cut short does not."""
    with pack.open("rb") as source, pack.with_suffix(".idx").open("rb") as index:
        source.seek(-digest, os.SEEK_END)
        index.seek(-2 * digest, os.SEEK_END)
        return source.read() == index.read(digest)


def tidy(folder: Path) -> None:
    """Remove what a killed git left: its locks would be in the way for ever, its drafts take room. Under the lock."""
    for lock in [*folder.glob("*.lock"), *folder.glob("refs/**/*.lock")]:
        lock.unlink(missing_ok=True)
    for pattern in LEFT:
        for left in [*folder.glob(f"objects/{pattern}"), *folder.glob(f"objects/*/{pattern}")]:
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink(missing_ok=True)


def measure(folder: Path) -> Size:
    """Counted, not estimated; a repository of packs has few files."""
    if (folder / BROKEN).exists():
        noted = (folder / BROKEN).read_text()[:32]
        return Size(int(noted) if noted.isdecimal() else 0)
    total = packs = loose = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            total += os.lstat(os.path.join(parent, name)).st_size
            packs += name.endswith(".pack")
            loose += len(name) in {38, 62} and len(os.path.basename(parent)) == 2
    return Size(total, packs, loose)
