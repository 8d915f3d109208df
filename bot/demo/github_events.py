"""The bodies of the local GitHub's webhooks, less the installation that they are delivered for. Pure."""

from __future__ import annotations

from typing import Any

from bot.demo.github_pull_shapes import PullShapes
from bot.demo.github_shapes import Json, Shapes
from bot.demo.github_state import App, Installation, Issue, Repository, User
from bot.demo.github_work_state import CheckRun, Pull, Review, ReviewComment


class Events:
    """One method for each event; ``more`` are the fields that only some actions have."""

    def __init__(self, shapes: Shapes, pulls: PullShapes, app: App) -> None:
        self._shapes, self._pulls, self._app = shapes, pulls, app

    def _event(self, action: str, repository: Repository, sender: User, **more: Any) -> Json:
        return {
            "action": action,
            **more,
            "repository": self._shapes.repository(repository) | {"custom_properties": {}},
            "sender": self._shapes.user(sender),
        }

    def issues(self, action: str, repository: Repository, issue: Issue, sender: User, **more: Any) -> Json:
        shape = self._shapes.issue(repository, issue) | {"labels": self._pulls.labels(repository, issue)}
        return self._event(action, repository, sender, issue=shape, **more)

    def labelled(self, action: str, repository: Repository, issue: Issue, name: str, sender: User) -> tuple[str, Json]:
        """Labels of pull requests arrive as ``pull_request``."""
        label = self._pulls.label(repository, name)
        if issue.pull is not None:
            return "pull_request", self.pull(action, repository, issue, issue.pull, sender, label=label)
        return "issues", self.issues(action, repository, issue, sender, label=label)

    def pull(self, action: str, repository: Repository, issue: Issue, pull: Pull, sender: User, **more: Any) -> Json:
        shape = self._pulls.pull(repository, issue, pull)
        return self._event(action, repository, sender, number=issue.number, pull_request=shape, **more)

    def review(self, action: str, repository: Repository, issue: Issue, pull: Pull, review: Review) -> Json:
        """In webhooks the state is in small letters."""
        shape = self._pulls.review(repository, issue, review) | {"state": review.state.lower()}
        simple = self._pulls.simple_pull(repository, issue, pull)
        return self._event(action, repository, review.user, review=shape, pull_request=simple)

    def review_comment(
        self, action: str, repository: Repository, issue: Issue, pull: Pull, comment: ReviewComment, **more: Any
    ) -> Json:
        shape = self._pulls.review_comment(repository, issue, comment)
        if comment.line is None:
            shape["line"] = None  # as GitHub sends it, whatever its description says
        simple = self._pulls.simple_pull(repository, issue, pull)
        return self._event(action, repository, comment.user, comment=shape, pull_request=simple, **more)

    def check(self, action: str, repository: Repository, check: CheckRun, sender: User, **more: Any) -> Json:
        return self._event(
            action, repository, sender, check_run=self._pulls.check(repository, check, self._app), **more
        )

    def repository(self, action: str, repository: Repository, sender: User, **more: Any) -> Json:
        return self._event(action, repository, sender, **more)

    def installation(self, action: str, installation: Installation, repositories: list[Repository]) -> Json:
        return {
            "action": action,
            "installation": self._shapes.installation(installation, self._app),
            "repositories": [self._short(repository) for repository in repositories],
            "requester": None,
            "sender": self._shapes.user(installation.account),
        }

    def removed(self, installation: Installation, repositories: list[Repository]) -> Json:
        """Of ``installation_repositories``."""
        return {
            "action": "removed",
            "installation": self._shapes.installation(installation, self._app),
            "repository_selection": "selected",
            "repositories_added": [],
            "repositories_removed": [self._short(repository) for repository in repositories],
            "requester": None,
            "sender": self._shapes.user(installation.account),
        }

    def _short(self, repository: Repository) -> Json:
        shape = self._shapes.repository(repository)
        return {key: shape[key] for key in ("id", "node_id", "name", "full_name", "private")}
