"""What the GitHub client takes and gives: values and two errors. Pure.

The errors are split by what the caller does next: ``GitHubUnavailable`` says to keep the work and come back,
``GitHubRefused`` that asking again would bring the same answer.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import SecretStr

from bot.tasks import Frozen


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


class GitHubRefused(Exception):
    """GitHub's final no: ``status`` and its own words. Asking again would bring the same."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status} {words}")
        self.status = status
        self.words = words
