"""Which path is which operation of the local GitHub."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from bot.demo import github_operations as op
from bot.demo.github_access import Answered, Asked, World

Handler = Callable[[World, Asked], Answered]


class Route(NamedTuple):
    """``operation`` is GitHub's own operationId."""

    operation: str
    method: str
    pattern: re.Pattern[str]
    handler: Handler


def find(method: str, raw_path: str) -> tuple[Route, dict[str, str]] | None:
    """The route of a path (as sent: percent signs kept), with its parameters decoded."""
    for route in ROUTES:
        if route.method == method and (match := route.pattern.fullmatch(raw_path)):
            return route, {name: unquote(value) for name, value in match.groupdict().items() if value is not None}
    return None


def _route(operation: str, method: str, path: str, handler: Handler) -> list[Route]:
    """``{name}`` in ``path`` is one segment. What is under a repository is found by its id too, as at GitHub."""
    paths = [path, path.replace("/repos/{owner}/{repo}", "/repositories/{repository_id}")]
    patterns = dict.fromkeys(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", p) for p in paths)
    return [Route(operation, method, re.compile(pattern), handler) for pattern in patterns]


_REPO = "/repos/{owner}/{repo}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"
_ISSUE = f"{_REPO}/issues/{{issue_number}}"

ROUTES: list[Route] = [
    *_route("apps/get-authenticated", "GET", "/app", op.get_app),
    *_route(
        "apps/create-installation-access-token", "POST", "/app/installations/{installation_id}/access_tokens", op.mint
    ),
    *_route("apps/revoke-installation-access-token", "DELETE", "/installation/token", op.revoke),
    *_route("apps/get-repo-installation", "GET", f"{_REPO}/installation", op.get_installation),
    *_route("repos/get", "GET", _REPO, op.get_repository),
    *_route(
        "repos/get-collaborator-permission-level",
        "GET",
        f"{_REPO}/collaborators/{{username}}/permission",
        op.get_permission,
    ),
    *_route("issues/get-comment", "GET", _COMMENT, op.get_comment),
    *_route("issues/update-comment", "PATCH", _COMMENT, op.update_comment),
    *_route("issues/delete-comment", "DELETE", _COMMENT, op.delete_comment),
    *_route("reactions/create-for-issue-comment", "POST", f"{_COMMENT}/reactions", op.react),
    *_route("reactions/list-for-issue-comment", "GET", f"{_COMMENT}/reactions", op.list_reactions),
    *_route("issues/get", "GET", _ISSUE, op.get_issue),
    *_route("issues/list-comments", "GET", f"{_ISSUE}/comments", op.list_comments),
    *_route("issues/create-comment", "POST", f"{_ISSUE}/comments", op.create_comment),
]
