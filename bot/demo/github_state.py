"""The state of the local GitHub: plain values that a test may read and change at any time.

Ids are counted up from one number for everything, so that mixing up two kinds of id is noticed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from bot.demo.github_work_state import Activity, CheckRun, CheckSuite, Labelling, Pull, Sent

# Of the size that GitHub's ids have today: above 2**31, so that a 32-bit column or field would be noticed.
FIRST_ID = 3_000_000_001

LEVELS = ("none", "read", "triage", "write", "maintain", "admin")


@dataclass(eq=False)
class User:
    """A person, an organization or a bot. Permissions are the repository's."""

    id: int
    login: str
    type: str = "User"


@dataclass(eq=False)
class Reaction:
    id: int
    content: str
    user: User
    created_at: datetime


@dataclass(eq=False)
class Comment:
    """A comment of an issue. ``history`` holds every text that it has had, oldest first."""

    id: int
    body: str
    user: User
    created_at: datetime
    updated_at: datetime
    by_app: bool = False
    minimised: str = ""
    """GitHub's word for why it is hidden; empty: it is not."""
    edited_at: datetime | None = None
    reactions: list[Reaction] = field(default_factory=list)
    history: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Issue:
    """An issue, or a pull request as far as its conversation goes."""

    id: int
    number: int
    title: str
    body: str
    user: User
    created_at: datetime
    is_pull_request: bool = False
    locked: bool = False
    closed: bool = False
    deleted: bool = False
    edited_at: datetime | None = None
    moved_to: str = ""
    """The API URL that a transferred issue answers with."""
    comments: list[Comment] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    labellings: list[Labelling] = field(default_factory=list)
    pushed_at: datetime | None = None
    """Of a pull request: when its head moved last."""
    pull: Pull | None = None
    """Branches and reviews of a pull request; None also where only its conversation is played."""

    @property
    def updated_at(self) -> datetime:
        """As late as the last thing that happened here."""
        times = [one.updated_at for one in self.comments] + [one.created_at for one in self.labellings]
        if self.pull is not None:
            times += [one.submitted_at for one in self.pull.reviews] + [one.updated_at for one in self.pull.comments]
        return max([self.created_at, self.edited_at or self.created_at, self.pushed_at or self.created_at, *times])


@dataclass(eq=False)
class Repository:
    """A repository; ``git_dir`` is a real bare one. ``former`` are full names that redirect here."""

    id: int
    owner: User
    name: str
    private: bool
    default_branch: str
    git_dir: Path
    created_at: datetime
    archived: bool = False
    roles: dict[str, str] = field(default_factory=dict)
    """By login in lower case; a word that is not one of ``LEVELS`` is a custom role based on write."""
    issues: dict[int, Issue] = field(default_factory=dict)
    former: set[str] = field(default_factory=set)
    protected: set[str] = field(default_factory=set)
    """Branches that only pull requests may change."""
    drafts: bool = True
    """Whether draft pull requests are on (private repositories of some plans have none)."""
    checks: list[CheckRun] = field(default_factory=list)
    suites: list[CheckSuite] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)
    """What has moved its branches, oldest first."""

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"


@dataclass(eq=False)
class Installation:
    """The App on one account, for the repositories listed."""

    id: int
    account: User
    repository_ids: set[int] = field(default_factory=set)
    suspended: bool = False
    granted: dict[str, str] | None = None
    """What its owner has accepted; None: all that the App asks for."""


@dataclass(eq=False)
class Token:
    """An installation token. It stays known after its end, so that its use can be seen."""

    value: str
    installation_id: int
    repository_ids: frozenset[int]
    permissions: dict[str, str]
    expires_at: datetime
    revoked: bool = False
    uses: int = 0


@dataclass(eq=False)
class App:
    """The registration of the bot."""

    id: int
    slug: str
    client_id: str
    owner: User
    user: User
    created_at: datetime
    permissions: dict[str, str] = field(
        default_factory=lambda: {
            "metadata": "read",
            "contents": "write",
            "issues": "write",
            "pull_requests": "write",
            "checks": "write",
        }
    )
    events: tuple[str, ...] = (
        "check_run", "issue_comment", "issues", "pull_request", "pull_request_review", "pull_request_review_comment",
        "repository",
    )  # fmt: skip
    """As app.yml asks for; a test holds them equal."""


class State:
    """Everything that this GitHub knows."""

    def __init__(self) -> None:
        self._ids = itertools.count(FIRST_ID)
        self.users: dict[str, User] = {}
        self.repositories: dict[int, Repository] = {}
        self.installations: dict[int, Installation] = {}
        self.tokens: dict[str, Token] = {}
        self.verified: set[str] = set()
        """Commits that GitHub has signed."""
        self.sent: list[Sent] = []
        """The App's deliveries."""

    def next_id(self) -> int:
        return next(self._ids)

    def user(self, login: str, type: str = "User") -> User:
        """The user of this login, made if need be."""
        key = login.lower()
        if key not in self.users:
            self.users[key] = User(self.next_id(), login, type)
        return self.users[key]

    def repository(self, full_name: str) -> Repository | None:
        """By its name as it is now, in any case."""
        wanted = full_name.lower()
        return next((r for r in self.repositories.values() if r.full_name.lower() == wanted), None)

    def formerly(self, full_name: str) -> Repository | None:
        """By a name that it had before, unless another repository has that name now."""
        wanted = full_name.lower()
        return next((r for r in self.repositories.values() if wanted in r.former), None)

    def installation_of(self, repository: Repository) -> Installation | None:
        return next((i for i in self.installations.values() if repository.id in i.repository_ids), None)

    def comment(self, repository: Repository, comment_id: int) -> tuple[Issue, Comment] | None:
        """A comment with its issue; None where it, or its issue, is gone."""
        for issue in repository.issues.values():
            for comment in issue.comments:
                if comment.id == comment_id and not issue.deleted and not issue.moved_to:
                    return issue, comment
        return None


def role_of(repository: Repository, login: str) -> str:
    """The role as GitHub names it. Everybody may read what is public."""
    if login.lower() == repository.owner.login.lower():
        return "admin"
    return repository.roles.get(login.lower(), "none" if repository.private else "read")


def level_of(role: str) -> str:
    """The legacy level of a role: maintain counts as write, triage as read, a custom role here as write."""
    return {"maintain": "write", "triage": "read", "admin": "admin", "read": "read", "none": "none"}.get(role, "write")
