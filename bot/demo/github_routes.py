"""Which path is which operation of the local GitHub."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from bot.demo import github_activity, github_git_data, github_graphql, github_pulls, github_work
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
    """``{name}`` in ``path`` is one segment, ``{name+}`` one or more. What is under a repository is found by its id
    too, as at GitHub."""
    paths = [path, path.replace("/repos/{owner}/{repo}", "/repositories/{repository_id}")]
    many = [re.sub(r"\{(\w+)\+\}", r"(?P<\1>.+)", p) for p in paths]
    patterns = dict.fromkeys(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", p) for p in many)
    return [Route(operation, method, re.compile(pattern), handler) for pattern in patterns]


_REPO = "/repos/{owner}/{repo}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"
_ISSUE = f"{_REPO}/issues/{{issue_number}}"
_PULL = f"{_REPO}/pulls/{{pull_number}}"

ROUTES: list[Route] = [
    *_route("apps/get-authenticated", "GET", "/app", op.get_app),
    *_route("apps/list-installations", "GET", "/app/installations", op.list_installations),
    *_route(
        "apps/create-installation-access-token", "POST", "/app/installations/{installation_id}/access_tokens", op.mint
    ),
    *_route("apps/revoke-installation-access-token", "DELETE", "/installation/token", op.revoke),
    *_route("apps/get-repo-installation", "GET", f"{_REPO}/installation", op.get_installation),
    *_route("repos/get", "GET", _REPO, op.get_repository),
    *_route("repos/list-activities", "GET", f"{_REPO}/activity", github_activity.list_activities),
    *_route(
        "repos/get-collaborator-permission-level",
        "GET",
        f"{_REPO}/collaborators/{{username}}/permission",
        op.get_permission,
    ),
    *_route("issues/list-comments-for-repo", "GET", f"{_REPO}/issues/comments", op.list_all_comments),
    *_route("issues/get-comment", "GET", _COMMENT, op.get_comment),
    *_route("issues/update-comment", "PATCH", _COMMENT, op.update_comment),
    *_route("issues/delete-comment", "DELETE", _COMMENT, op.delete_comment),
    *_route("reactions/create-for-issue-comment", "POST", f"{_COMMENT}/reactions", op.react),
    *_route("reactions/list-for-issue-comment", "GET", f"{_COMMENT}/reactions", op.list_reactions),
    *_route("issues/list-for-repo", "GET", f"{_REPO}/issues", github_work.list_issues),
    *_route("issues/get", "GET", _ISSUE, op.get_issue),
    *_route("issues/list-events", "GET", f"{_ISSUE}/events", github_work.list_events),
    *_route("issues/list-comments", "GET", f"{_ISSUE}/comments", op.list_comments),
    *_route("issues/create-comment", "POST", f"{_ISSUE}/comments", op.create_comment),
    *_route("issues/list-labels-on-issue", "GET", f"{_ISSUE}/labels", github_work.list_labels),
    *_route("issues/add-labels", "POST", f"{_ISSUE}/labels", github_work.add_labels),
    *_route("issues/remove-label", "DELETE", f"{_ISSUE}/labels/{{name}}", github_work.remove_label),
    *_route("git/create-blob", "POST", f"{_REPO}/git/blobs", github_git_data.create_blob),
    *_route("git/get-blob", "GET", f"{_REPO}/git/blobs/{{file_sha}}", github_git_data.get_blob),
    *_route("git/create-tree", "POST", f"{_REPO}/git/trees", github_git_data.create_tree),
    *_route("git/get-tree", "GET", f"{_REPO}/git/trees/{{tree_sha}}", github_git_data.get_tree),
    *_route("git/create-commit", "POST", f"{_REPO}/git/commits", github_git_data.create_commit),
    *_route("git/get-commit", "GET", f"{_REPO}/git/commits/{{commit_sha}}", github_git_data.get_commit),
    *_route("git/get-ref", "GET", f"{_REPO}/git/ref/{{ref+}}", github_git_data.get_ref),
    *_route("git/create-ref", "POST", f"{_REPO}/git/refs", github_git_data.create_ref),
    *_route("git/update-ref", "PATCH", f"{_REPO}/git/refs/{{ref+}}", github_git_data.update_ref),
    *_route("git/delete-ref", "DELETE", f"{_REPO}/git/refs/{{ref+}}", github_git_data.delete_ref),
    *_route("repos/get-content", "GET", f"{_REPO}/contents/{{path+}}", github_git_data.get_contents),
    *_route("pulls/create", "POST", f"{_REPO}/pulls", github_pulls.create),
    *_route("pulls/list", "GET", f"{_REPO}/pulls", github_pulls.list_pulls),
    *_route("pulls/list-review-comments-for-repo", "GET", f"{_REPO}/pulls/comments", github_pulls.list_all_comments),
    *_route("pulls/get-review-comment", "GET", f"{_REPO}/pulls/comments/{{comment_id}}", github_pulls.get_comment),
    *_route("pulls/get", "GET", _PULL, github_pulls.get),
    *_route("pulls/update", "PATCH", _PULL, github_pulls.update),
    *_route("pulls/list-files", "GET", f"{_PULL}/files", github_pulls.list_files),
    *_route("pulls/list-reviews", "GET", f"{_PULL}/reviews", github_pulls.list_reviews),
    *_route("pulls/get-review", "GET", f"{_PULL}/reviews/{{review_id}}", github_pulls.get_review),
    *_route("pulls/create-review", "POST", f"{_PULL}/reviews", github_pulls.create_review),
    *_route("pulls/list-review-comments", "GET", f"{_PULL}/comments", github_pulls.list_comments),
    *_route(
        "pulls/create-reply-for-review-comment", "POST", f"{_PULL}/comments/{{comment_id}}/replies", github_pulls.reply
    ),
    *_route(
        "reactions/create-for-pull-request-review-comment",
        "POST",
        f"{_REPO}/pulls/comments/{{comment_id}}/reactions",
        github_pulls.react,
    ),
    *_route("checks/create", "POST", f"{_REPO}/check-runs", github_work.create_check),
    *_route("checks/update", "PATCH", f"{_REPO}/check-runs/{{check_run_id}}", github_work.update_check),
    *_route("checks/list-for-ref", "GET", f"{_REPO}/commits/{{ref}}/check-runs", github_work.list_checks),
    *_route("checks/list-suites-for-ref", "GET", f"{_REPO}/commits/{{ref}}/check-suites", github_work.list_suites),
    *_route("apps/list-webhook-deliveries", "GET", "/app/hook/deliveries", github_work.list_deliveries),
    *_route(
        "apps/redeliver-webhook-delivery",
        "POST",
        "/app/hook/deliveries/{delivery_id}/attempts",
        github_work.redeliver,
    ),
    *_route("graphql", "POST", "/graphql", github_graphql.answer),
]
