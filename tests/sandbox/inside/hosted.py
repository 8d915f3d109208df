"""A repository on the small git host, and places to fetch it into: what the tests of fetching and mirroring share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sandbox.inside import fetch
from sandbox.inside.bounds import Deadline
from tests.sandbox.inside.bases import git, make
from tests.sandbox.inside.githost import GitHost

ORIGIN = "https://github.com/octo/plain"
IDENTITY = "https://github.com octo/plain"
# A fetch takes a tenth of a second here; a machine that swaps its caches has been seen to take half a minute.
PATIENCE = 120


@dataclass(frozen=True)
class Task:
    """Where one task's fetch went."""

    done: fetch.Fetched
    workspace: Path
    clean: Path

    @property
    def repo(self) -> Path:
        return self.workspace / "repo"

    @property
    def bare(self) -> Path:
        return self.clean / "data" / "git"

    @property
    def through_mirror(self) -> bool:
        return (self.bare / "objects" / "info" / "alternates").exists()

    @property
    def generation(self) -> str:
        """The name of the generation that the task's objects are in."""
        return Path((self.bare / "objects" / "info" / "alternates").read_text().strip()).parent.name


@dataclass(frozen=True)
class Mirrored:
    """A repository on the host, its working copy, and a mirror's volume as the service prepares it."""

    host: GitHost
    folder: Path
    name: str = "plain"

    @property
    def bare(self) -> Path:
        return self.host.root / f"{self.name}.git"

    @property
    def work(self) -> Path:
        return self.host.root / f"{self.name}.work"

    @property
    def root(self) -> Path:
        return self.folder / "mirror"

    @property
    def data(self) -> Path:
        return self.root / "data"

    def wanted(self, ref: str | None = None, commit: str | None = None, seconds: float = PATIENCE) -> fetch.Wanted:
        return fetch.Wanted(f"{self.host.url}/{self.name}.git", ref, commit, ORIGIN, seconds, None, IDENTITY)

    def fetch(self, task: str, ref: str | None = None, commit: str | None = None, seconds: float = PATIENCE) -> Task:
        """One task's fetch, in places of its own."""
        workspace, clean = self.folder / task / "ws", self.folder / task / "clean"
        (workspace / "repo").mkdir(parents=True, exist_ok=True)
        (clean / "data").mkdir(parents=True, exist_ok=True)
        request = self.wanted(ref, commit, seconds)
        done = fetch.fetch(request, workspace, clean, Deadline.after(seconds), self.root)
        return Task(done, workspace, clean)

    def commit(self, text: str, ref: str = "refs/heads/main") -> str:
        """One more commit in the working copy, pushed."""
        (self.work / "more").write_text(text)
        git(self.work, "add", "more")
        git(self.work, "commit", "-q", "-m", text)
        git(self.work, "push", "-q", "--force", str(self.bare), f"HEAD:{ref}")
        return git(self.work, "rev-parse", "HEAD").decode().strip()


def mirrored(host: GitHost, folder: Path) -> Mirrored:
    """A repository of two commits and an empty mirror."""
    one = Mirrored(host, folder)
    one.bare.mkdir()
    git(one.bare, "init", "-q", "--bare", "-b", "main", ".")
    git(one.bare, "config", "uploadpack.allowAnySHA1InWant", "true")
    one.work.mkdir()
    make(one.work, one.name)
    git(one.work, "checkout", "-q", "-f", "main")
    one.commit("second")
    (one.root / "lock").mkdir(parents=True)
    one.data.mkdir()
    return one
