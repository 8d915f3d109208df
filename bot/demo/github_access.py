"""What an API request to the local GitHub is, and what its caller may reach. Refusals are GitHub's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from bot.demo.github_auth import Caller, Refusal, grants
from bot.demo.github_pull_shapes import PullShapes
from bot.demo.github_shapes import Shapes
from bot.demo.github_state import App, Comment, Issue, Repository, State, Token, User
from bot.demo.github_uploads import Uploads
from bot.demo.github_work_state import Pull, ReviewComment, Sent


@dataclass(frozen=True)
class Asked:
    """One API request, decoded."""

    method: str
    path: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    caller: Caller
    accept: str = ""


@dataclass(frozen=True)
class Answered:
    """Its answer; ``content`` None is an empty body."""

    status: int
    content: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class World:
    """What the operations work on. The callables are told of what the App does, so that it hears of it like anybody:
    a comment, a push to a branch, a pull request opened or changed, a review comment, a label, a delivery sent again.
    """

    state: State
    app: App
    shapes: Shapes
    api: str
    now: Callable[[], datetime]
    commented: Callable[[str, Repository, Issue, Comment], None]
    pulls: PullShapes
    pushed: Callable[[Repository, str, User], None]
    opened: Callable[[Repository, User, str, str, Pull], Issue]
    pull_changed: Callable[[Repository, Issue, str, User], None]
    reviewed: Callable[[Repository, Issue, ReviewComment], None]
    labelled: Callable[[Repository, Issue, str, str, User], None]
    again: Callable[[Sent], None]
    uploads: Uploads = field(default_factory=Uploads)


def as_app(asked: Asked) -> None:
    """Raises GitHub's refusal unless the App itself asks, with its JSON web token."""
    if asked.caller.kind != "app":
        raise Refusal(401, "A JSON web token could not be decoded")


def reach(world: World, asked: Asked, permission: str, level: str) -> Repository:
    """The repository of the path, if the caller may do this to it. Else GitHub's refusal, which for somebody who may
    not even see it is 404."""
    repository = named(world, asked)
    token = asked.caller.token
    if asked.caller.kind == "app":
        raise Refusal(401, "Bad credentials")
    if token is not None and holds(world.state, token, repository):
        if not grants(token, permission, level):
            raise Refusal(403, "Resource not accessible by integration")
        return repository
    if repository.private:
        raise Refusal(404, "Not Found")
    if level != "read":
        if token is None:
            raise Refusal(401, "Requires authentication")
        raise Refusal(403, "Resource not accessible by integration")
    return repository


def holds(state: State, token: Token, repository: Repository) -> bool:
    """Whether the token is for this repository, and its installation still is too."""
    installation = state.installations.get(token.installation_id)
    if installation is None:
        raise Refusal(401, "Bad credentials")
    if installation.suspended:
        raise Refusal(403, "This installation has been suspended")
    return repository.id in token.repository_ids and repository.id in installation.repository_ids


class Moved(Exception):
    """The path has another URL now."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


def named(world: World, asked: Asked) -> Repository:
    """By id, by name, or by a former name: then ``Moved``."""
    if "repository_id" in asked.params:
        found = world.state.repositories.get(number(asked.params["repository_id"]))
    else:
        name = f"{asked.params['owner']}/{asked.params['repo']}"
        found = world.state.repository(name)
        if found is None and (renamed := world.state.formerly(name)):
            rest = asked.path.split("/", 4)[4:]
            raise Moved("/".join([f"{world.api}/repositories/{renamed.id}", *rest]))
    if found is None:
        raise Refusal(404, "Not Found")
    return found


def reach_issue(world: World, asked: Asked, level: str) -> tuple[Repository, Issue]:
    """The issue or pull request of the path, if the caller may do this to it. Else as ``reach``; ``Moved`` where it
    was transferred."""
    repository = named(world, asked)
    issue = repository.issues.get(number(asked.params["issue_number"]))
    reach(world, asked, _permission(issue), level)
    if issue is None:
        raise Refusal(404, "Not Found")
    if issue.deleted:
        raise Refusal(410, "This issue was deleted")
    if issue.moved_to:
        raise Moved(issue.moved_to)
    return repository, issue


def reach_comment(world: World, asked: Asked, level: str) -> tuple[Repository, Issue, Comment]:
    """The comment of the path, if the caller may do this to it: nobody changes another's. Else as ``reach``."""
    repository = named(world, asked)
    found = world.state.comment(repository, number(asked.params["comment_id"]))
    reach(world, asked, _permission(found and found[0]), level)
    if found is None:
        raise Refusal(404, "Not Found")
    issue, comment = found
    if asked.method in {"PATCH", "DELETE"} and not comment.by_app:
        raise Refusal(403, "Resource not accessible by integration")
    return repository, issue, comment


def _permission(issue: Issue | None) -> str:
    return "pull_requests" if issue is not None and issue.is_pull_request else "issues"


def number(text: str) -> int:
    """A decimal number of a path or query; anything else is not found."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise Refusal(404, "Not Found")
    return int(text)


PER_PAGE = 30
MAX_PER_PAGE = 100


def paged(world: World, asked: Asked, found: list[Any]) -> Answered:
    """The page that was asked for, with a link to the next one."""
    per_page = min(number(asked.query.get("per_page", str(PER_PAGE))), MAX_PER_PAGE)
    page = max(number(asked.query.get("page", "1")), 1)
    headers = {}
    if len(found) > page * per_page:
        kept = {name: value for name, value in asked.query.items() if name not in {"page", "per_page"}}
        query = urlencode({**kept, "per_page": per_page, "page": page + 1})
        headers["Link"] = f'<{world.api}{asked.path}?{query}>; rel="next"'
    return Answered(200, found[(page - 1) * per_page : page * per_page], headers)
