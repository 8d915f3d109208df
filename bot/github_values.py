"""What the GitHub client takes and gives: values and two errors. Pure.

The errors are split by what the caller does next: ``GitHubUnavailable`` says to keep the work and come back,
``GitHubRefused`` that asking again would bring the same answer.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import SecretStr

from bot.tasks import Frozen
from bot.threads import Head


class RepositoryRef(Frozen):
    """Where a call goes: the installation that acts, and the repository by id (which counts) and name (for URLs)."""

    installation_id: int
    repository_id: int
    owner: str
    name: str


class RepositoryInfo(Frozen):
    """A repository as GitHub knows it now; owner and name may differ from the ones asked with (renamed)."""

    id: int
    owner: str
    name: str
    private: bool
    default_branch: str
    archived: bool


class AppInfo(Frozen):
    """Who we are: what ``GET /app`` says about the registration."""

    id: int
    slug: str
    permissions: dict[str, str]
    events: tuple[str, ...]

    @property
    def login(self) -> str:
        """The name under which our comments appear."""
        return f"{self.slug}[bot]"


class PullInfo(Frozen):
    """A pull request as it is now."""

    number: int
    state: Literal["open", "closed"]
    merged: bool
    draft: bool
    locked: bool
    title: str
    url: str
    """Of its page."""
    head: Head
    by_us: bool
    """The App has opened it."""


class TreeEntry(Frozen):
    """One file of a commit to be made. Exactly one of: text, data, or neither (it is removed)."""

    path: str
    mode: str = "100644"
    text: str | None = None
    data: bytes | None = None

    @property
    def removed(self) -> bool:
        return self.text is None and self.data is None


class CommitSpec(Frozen):
    """A commit on top of ``parent``: its tree with the entries in place. Author and date are GitHub's to set."""

    message: str
    parent: str
    entries: tuple[TreeEntry, ...]


class CheckAction(Frozen):
    """A button of a check run. GitHub's bounds, in characters: 20, 40, 20."""

    label: str
    description: str
    identifier: str


class DeliveryInfo(Frozen):
    """A webhook delivery in the App's own list, which reaches back about three days."""

    id: int
    guid: str
    event: str
    action: str
    delivered_at: datetime
    ok: bool
    repository_id: int | None


class FetchToken(Frozen):
    """An installation token for one repository. ``repr`` and ``str`` never show it."""

    token: SecretStr
    expires_at: datetime


class GitHubUnavailable(Exception):
    """GitHub could not be asked or asked us to wait; nothing is known to be wrong. Keep the work, try later.

    The call may have taken effect all the same: look before repeating what is not idempotent (``create_comment``
    does). ``retry_after_seconds`` is GitHub's wish where it named one, else our guess.
    """

    def __init__(self, words: str, retry_after_seconds: float = 30.0) -> None:
        super().__init__(words)
        self.retry_after_seconds = retry_after_seconds


class BranchMoved(Exception):
    """The branch is not where it was expected to be, or is gone. ``str()`` says how."""


class BranchProtected(Exception):
    """GitHub's rules keep the App from writing this branch. ``str()`` has its words."""


class GitHubRefused(Exception):
    """GitHub's final no: ``status`` and its own words. Asking again would bring the same."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status} {words}")
        self.status = status
        self.words = words
