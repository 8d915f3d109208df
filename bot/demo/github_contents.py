"""What there is on a local GitHub: users, repositories with real git, installations, roles, issues. No network."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from bot.demo import github_activity, github_git
from bot.demo.github_git import Files
from bot.demo.github_state import Installation, Issue, Repository, State, User


class Contents:
    """The verbs that make it. ``state`` is what they have made; ``root`` is the folder of the repositories."""

    def __init__(self, root: Path, clock: Callable[[], datetime]) -> None:
        self.state = State()
        self._root = root
        self._clock = clock

    def add_user(self, login: str, type: str = "User") -> User:
        """A user by login; the same one if there already."""
        return self.state.user(login, type)

    def add_repository(
        self,
        owner: str,
        name: str,
        files: Files,
        *,
        private: bool = False,
        default_branch: str = "main",
        roles: dict[str, str] | None = None,
        installed: bool = True,
    ) -> Repository:
        """A repository with one commit (none if there are no files), and the App installed on it."""
        account = self.state.user(owner)
        repository_id = self.state.next_id()
        git_dir = self._root / f"{repository_id}.git"
        github_git.create(git_dir, default_branch)
        repository = Repository(repository_id, account, name, private, default_branch, git_dir, self._clock())
        self.state.repositories[repository_id] = repository
        for login, role in (roles or {}).items():
            self.set_role(repository, login, role)
        if files:
            self.commit(repository, files)
        if installed:
            self.installation(account).repository_ids.add(repository_id)
        return repository

    def commit(self, repository: Repository, files: Files, *, branch: str = "", message: str = "A commit\n") -> str:
        """Somebody pushes: exactly ``files`` on top of the branch (the default one). Returns the commit's id."""
        branch = branch or repository.default_branch
        return self.committed(repository, branch, files, message, repository.owner)

    def committed(self, repository: Repository, branch: str, files: Files, message: str, by: User) -> str:
        """Exactly ``files`` on top of the branch, and who has pushed it."""
        before = self.head(repository, branch)
        sha = github_git.commit(repository.git_dir, files, branch=branch, message=message)
        github_activity.record(self.state, repository, branch, before, by, self._clock())
        return sha

    def head(self, repository: Repository, branch: str = "") -> str | None:
        """The commit that a branch is at; None if there is none."""
        return github_git.head(repository.git_dir, branch or repository.default_branch)

    def installation(self, account: User) -> Installation:
        """The App's installation on the account, made if need be."""
        for installation in self.state.installations.values():
            if installation.account is account:
                return installation
        made = Installation(self.state.next_id(), account)
        self.state.installations[made.id] = made
        return made

    def set_role(self, repository: Repository, login: str, role: str) -> None:
        """Make somebody admin, maintain, write, triage, read, none, or a custom role of that name (as write)."""
        self.state.user(login)
        repository.roles[login.lower()] = role

    def rename(self, repository: Repository, name: str) -> None:
        """The old name redirects from now on."""
        repository.former.add(repository.full_name.lower())
        repository.name = name

    def add_issue(
        self,
        repository: Repository,
        title: str = "An issue",
        body: str = "",
        user: str = "",
        *,
        pull_request: bool = False,
    ) -> Issue:
        """Open an issue, by the owner unless somebody is named."""
        number = len(repository.issues) + 1
        author = self.state.user(user) if user else repository.owner
        issue = Issue(self.state.next_id(), number, title, body, author, self._clock(), is_pull_request=pull_request)
        repository.issues[number] = issue
        return issue
